"""Waits until a page has done what an action made it do, and takes its picture meanwhile."""

from __future__ import annotations

import asyncio
import math
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
IDLE_S: Final = 0.01
"""Seconds without a change after which a page is calm."""
_SLICE_S: Final = 0.1
"""Seconds for which a page that goes on changing is asked once."""
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
        asked_s: `time.monotonic` of before it was asked the last time.
        told_s: Likewise, of its answer.
        picture: Its viewport as JPEG, or nothing if the page gives none; None if it was not asked
            for, or something of the page began, ended or changed since it was begun.
    """

    late: str = ""
    tab: Tab | None = None
    document: str = ""
    asked_s: float = 0.0
    told_s: float = 0.0
    picture: asyncio.Future[bytes | None] | None = None

    def drop(self) -> None:
        """End what is still being taken of the page."""
        if self.picture is not None:
            self.picture.cancel()


async def settle(
    session: BrowserSession, *, pictured: bool = False, seen: bool = False, after_s: float = IDLE_S
) -> Settled:
    """Wait until the page has loaded, its requests have ended and it stopped changing.

    Args:
        session: Its current tab is waited for.
        pictured: Whether to take a picture while the page is asked; a frame takes up to 17 ms.
        seen: Whether to have the reader take a snapshot when it has settled.
        after_s: Seconds to wait in any case, because what a handler begins may change no element.
    """
    began, first = time.monotonic(), True
    pictures = _Pictures(session, _PICTURES if pictured else 0)
    try:
        while True:
            await session.settle_pages()
            tab = session.tab
            if tab.dialog is not None or tab.crashed:
                return Settled()
            waited = time.monotonic() - began
            least_s, awaited = max(0.0, after_s - waited), session.expects(tab)
            # A small page loads meanwhile; a snapshot for each answer of a large one is a waste.
            seeing, first = seen and (first or not awaited), False
            most_s = least_s if awaited else max(least_s, _SLICE_S)
            try:
                await tab.world(tab.main)
                asked_s = time.monotonic()
                pictures.begin(tab, least_s)
                state = await session.reader.wait_until_calm(
                    tab, IDLE_S, least_s, most_s, seen=seeing
                )
            except (PageGoneError, PageFailure):
                asked_s = time.monotonic()
                state = {"idle": 0, "waited": 0, "calm": False, "token": ""}
            except PageBusyError as error:
                return Settled("" if tab.dialog is not None else str(error))
            pictures.drop_if_changed(state["idle"] / 1000, state["waited"] / 1000)
            # A document that a script has opened and not closed is never complete.
            if (state["calm"] or waited > QUIET_S) and not session.expects(tab):
                told_s = time.monotonic()
                return Settled("", tab, state["token"], asked_s, told_s, pictures.hand_out(tab))
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

    def __init__(self, session: BrowserSession, most: int) -> None:
        self._session, self._left = session, most
        self._taking: asyncio.Future[bytes | None] | None = None
        self._tab: Tab | None = None
        self._began = math.inf
        self._new = False

    def begin(self, tab: Tab, after_s: float) -> None:
        """Take a picture of a tab, some seconds from now, once nothing of it is to come."""
        if self._tab is not tab:
            self.cancel()
        if self._taking is None and self._left > 0:
            self._left -= 1
            self._new = True
            self._tab, self._began = tab, math.inf
            self._taking = asyncio.ensure_future(self._capture(tab, after_s))
            self._taking.add_done_callback(_read)

    async def _capture(self, tab: Tab, after_s: float) -> bytes | None:
        await asyncio.sleep(after_s)
        while self._session.expects(tab):
            await asyncio.sleep(_POLL_S)
        self._began = time.monotonic()
        return await capture(tab)

    def drop_if_changed(self, idle_s: float, waited_s: float) -> None:
        """Drop the picture if it was begun and the page has changed since, or goes on.

        Args:
            idle_s: Seconds since the last change, by the clock of the page.
            waited_s: Seconds since the page was asked, which was before a new picture was begun.
        """
        unchanged = self._new and idle_s > waited_s
        self._new = False
        if self._tab is None or self._began > time.monotonic():
            return
        stirred = self._tab.stirred >= self._began or self._session.expects(self._tab)
        if stirred or not (unchanged or idle_s >= time.monotonic() - self._began):
            self.cancel()

    def hand_out(self, tab: Tab) -> asyncio.Future[bytes | None] | None:
        """Return the picture of a tab; None if none was begun, or it was dropped."""
        if self._tab is not tab or self._began > time.monotonic():
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
