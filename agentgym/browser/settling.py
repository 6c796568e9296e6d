"""Waits until a page has done what an action made it do, and takes its picture meanwhile."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Final

from agentgym.browser.picture import capture
from agentgym.browser.session import LOAD_S, BrowserSession
from agentgym.browser.tab import PageBusyError, PageFailure, PageGoneError, Tab

FIRST_S: Final = 30.0
"""Seconds that the first page of an episode may take."""
QUIET_S: Final = 2.0
"""Seconds that a page may go on changing after an action."""
_IDLE_S: Final = 0.01
_POLL_S: Final = 0.005
_PICTURES: Final = 3
"""Pictures that are taken while a page settles, each after the last one was dropped."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A page after an action.

    Attributes:
        late: What was still going on when the time was over; empty if nothing was.
        tab: The tab that settled; None if it cannot be asked now.
        document: The walker's token of its document; empty if it cannot be asked now.
        picture: Its viewport as JPEG, or nothing if the page gives none; None if it was not asked
            for, or something of the page began, ended or changed since it was begun.
    """

    late: str = ""
    tab: Tab | None = None
    document: str = ""
    picture: asyncio.Future[bytes | None] | None = None


async def settle(session: BrowserSession, *, pictured: bool = False) -> Settled:
    """Wait until the page has loaded, its requests have ended and it stopped changing.

    Args:
        session: Its current tab is waited for.
        pictured: Whether to take a picture while the page is asked; a frame takes up to 17 ms.
    """
    began = time.monotonic()
    pictures = _Pictures(_PICTURES if pictured else 0)
    # A page is calm only if nothing has changed for that long.
    await asyncio.sleep(_IDLE_S)
    try:
        while True:
            await session.settle_pages()
            tab = session.tab
            if tab.dialog is not None or tab.crashed:
                return Settled()
            waited = time.monotonic() - began
            if session.expects(tab):
                pictures.cancel()
            else:
                pictures.begin(tab)
            try:
                state = await tab.call("painted")
            except (PageGoneError, PageFailure):
                state = {"idle": 0, "ready": "loading", "token": ""}
            except PageBusyError as error:
                return Settled("" if tab.dialog is not None else str(error))
            idle_s = state["idle"] / 1000
            if session.expects(tab):
                pictures.cancel()
            pictures.drop_if_changed(idle_s)
            # A document that a script has opened and not closed is never complete.
            calm = idle_s >= _IDLE_S and state["ready"] != "loading"
            if (calm or waited > QUIET_S) and not session.expects(tab):
                return Settled("", tab, state["token"], pictures.hand_out(tab))
            if waited > LOAD_S:
                late = f"the page did not finish loading in {LOAD_S:g} s"
                return Settled(late, tab, state["token"])
            await asyncio.sleep(_POLL_S)
    finally:
        pictures.cancel()


class _Pictures:
    """Takes pictures of a page ahead, and drops those since which something has happened to it.

    The walker tells of changes of the main document. What happens in frames, to canvases and to
    properties without a request or a change beside it may come after the picture.
    """

    def __init__(self, most: int) -> None:
        self._left = most
        self._taking: asyncio.Future[bytes | None] | None = None
        self._tab: Tab | None = None
        self._began = 0.0

    def begin(self, tab: Tab) -> None:
        if self._taking is None and self._left > 0:
            self._left -= 1
            self._tab, self._began = tab, time.monotonic()
            self._taking = asyncio.ensure_future(capture(tab))
            self._taking.add_done_callback(_read)

    def drop_if_changed(self, idle_s: float) -> None:
        stirred = self._tab is not None and self._tab.stirred >= self._began
        if stirred or idle_s < time.monotonic() - self._began:
            self.cancel()

    def hand_out(self, tab: Tab) -> asyncio.Future[bytes | None] | None:
        if self._tab is not tab:
            return None
        taking, self._taking = self._taking, None
        return taking

    def cancel(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None


def _read(taking: asyncio.Future[bytes | None]) -> None:
    """Read the outcome of a picture; the episode may not wait for it."""
    if not taking.cancelled():
        taking.exception()


async def loaded(tab: Tab) -> dict[str, Any] | None:
    """Wait until a first page has loaded, whatever it does then.

    It may take longer than a page that an agent opens: no step of an episode waits for it.

    Returns:
        What the walker tells of it, with its address and token; None if it has not loaded.
    """
    until = time.monotonic() + FIRST_S
    while time.monotonic() < until and tab.dialog is None and not tab.crashed:
        try:
            state: dict[str, Any] = await tab.call("quiet")
        except (PageGoneError, PageFailure, PageBusyError):
            state = {"ready": "loading"}  # the document is being replaced
        if state["ready"] == "complete":
            return state
        await asyncio.sleep(_POLL_S)
    return None
