"""Pictures of the viewport."""

from __future__ import annotations

import base64
from typing import Final

from agentgym.browser.tab import PageBusyError, PageGoneError, Tab

_QUALITY: Final = 80


async def capture(tab: Tab) -> bytes | None:
    """Return the viewport of a tab as JPEG; None if the page gives none."""
    try:
        taken = await tab.send(
            "Page.captureScreenshot", format="jpeg", quality=_QUALITY, optimizeForSpeed=True
        )
    except (PageBusyError, PageGoneError):
        return None
    return base64.b64decode(taken["data"])
