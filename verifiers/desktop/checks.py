"""Check pack `desktop`: the windows that a desktop shows at the end.

Channel: state (`page_state`). The surface notes them after the agent's last action, before
`at_end = "close"` closes them (docs/desktop.md). An application chooses its titles itself, and
the agent's own programs can open windows of any title: use these checks beside others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify.values import brief, result

_FLAGS = ("focused", "minimized", "fullscreen")


def window(
    evidence: Evidence,
    title: str,
    open: bool = True,
    class_name: str = "",
    focused: bool | None = None,
    minimized: bool | None = None,
    fullscreen: bool | None = None,
) -> CheckResult:
    r"""A window is open, or none like it is.

    Channel: state. A desktop that did not answer at the end has passed nothing.

    Example:
        use = "desktop.window"
        with = { title = '^budget\.ods ', focused = true }

    Args:
        evidence: Evidence of the episode.
        title: Regular expression, found anywhere in the title.
        open: Whether there has to be such a window, or must not be one.
        class_name: Class of the window, such as ``libreoffice-calc``; any if empty.
        focused: Whether it has the focus; either if left out.
        minimized: Likewise.
        fullscreen: Likewise.
    """
    try:
        pattern = re.compile(title)
    except (re.error, TypeError) as error:
        raise VerifierError(f"desktop.window: title: {error}") from None
    wanted = {
        name: flag
        for name, flag in zip(_FLAGS, (focused, minimized, fullscreen), strict=True)
        if flag is not None
    }
    if not isinstance(evidence.page_state.get("windows"), list | tuple):
        return result(False, "the windows were not seen: no desktop has answered at the end")
    windows = list(_windows(evidence))
    found = [
        one
        for one in windows
        if pattern.search(str(one.get("title", "")))
        and (not class_name or one.get("class") == class_name)
        and all(one.get(name) is flag for name, flag in wanted.items())
    ]
    titles = [str(one.get("title", "")) for one in windows]
    return result(bool(found) == open, f"{len(found)} such windows of {brief(titles)}")


def _windows(evidence: Evidence) -> Iterator[Mapping[str, Any]]:
    noted = evidence.page_state["windows"]
    assert isinstance(noted, list | tuple), "the caller has looked"
    for one in noted:
        if isinstance(one, Mapping):
            yield one
