"""A Playwright baseline: a fresh context with a page and its picture, and nothing else.

It has the same browser, confinement and sites as the browser surface, so that the difference is
what the surface adds: settling, the tree, the first expression of the environment.
"""

from __future__ import annotations

import time
from typing import Final

from agentgym.browser.chromium import Chromium, start_playwright
from agentgym.browser.executable import find_executable
from agentgym.browser.proxy import SiteProxy
from agentgym.browser.requests import RequestLog
from agentgym.protocols import Sites

_QUALITY: Final = 80


async def measure_contexts(sites: Sites, width: int, height: int, count: int) -> list[float]:
    """Return the milliseconds of each fresh context with the start page of the sites.

    Args:
        sites: What answers the browser.
        width: Pixels of the viewport.
        height: Likewise.
        count: Number of contexts.

    Raises:
        ConfigError: There is no Chromium, or it cannot be confined.
        SurfaceError: It does not start.
    """
    playwright = await start_playwright()
    chromium = Chromium(find_executable())
    try:
        await chromium.start(playwright)
        times = [await _context_ms(chromium, sites, width, height) for _ in range(count + 1)]
    finally:
        await chromium.close()
        await playwright.stop()
    return times[1:]


async def _context_ms(chromium: Chromium, sites: Sites, width: int, height: int) -> float:
    began = time.perf_counter()
    listening = await chromium.confinement.listener()
    proxy = SiteProxy(sites, RequestLog())
    await proxy.open(listening)
    try:
        context = await chromium.browser.new_context(
            proxy={"server": f"http://127.0.0.1:{listening.getsockname()[1]}"},
            viewport={"width": width, "height": height},
        )
        page = await context.new_page()
        await page.goto(sites.start, wait_until="load")
        await page.screenshot(type="jpeg", quality=_QUALITY)
        took_ms = 1e3 * (time.perf_counter() - began)
        await context.close()
    finally:
        await proxy.close()
    return took_ms
