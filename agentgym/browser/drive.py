"""One step in a browser: the action, the settling, the view, and what the action has done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from agentgym.browser.actions import Actions
from agentgym.browser.dom import Document
from agentgym.browser.picture import capture
from agentgym.browser.session import BrowserSession, dialog_json
from agentgym.browser.settling import IDLE_S, Settled, loaded, settle
from agentgym.browser.tab import Tab
from agentgym.browser.values import PageValues, evaluate
from agentgym.browser.view import PageView
from agentgym.errors import SurfaceLostError
from agentgym.gui.refusal import Refusal
from agentgym.records import Json

Outcome: TypeAlias = Literal["changed", "no_change", "navigated", "error"]
_BLANK: Final = "about:blank"
_TURNS: Final = 3
"""Turns of the event loop in which a task sends what it asks of a page. Where they are too few, the
page is asked again."""


@dataclass(frozen=True, slots=True)
class BrowserState:
    """A browser as it was seen after an action, and what the action has done.

    Attributes:
        view: The current page.
        tabs: The tabs, as JSON.
        dialog: The open dialog, None if none is open.
        downloads: Files downloaded so far, as JSON.
        console: Errors that pages reported since the last action.
        picture: The viewport as JPEG; None if it was not asked for or cannot be had.
        outcome: What the action has done; None before the first.
        error: Why it failed, or what was still going on at its end.
    """

    view: PageView
    tabs: list[Json]
    dialog: Mapping[str, Json] | None
    downloads: list[Json]
    console: list[str] = field(default_factory=list)
    picture: bytes | None = None
    outcome: Outcome | None = None
    error: str = ""


class Driver:
    """Drives one session step by step, on the engine's loop.

    Args:
        session: The session.
        base: The address that is opened first, with a path.
        init: Expression of JavaScript that prepares the page at that address.
        values: Values that are read from the page after every action.
        deposit: Puts a file where the browser can read it.
        pictures: Whether every state has a picture.
    """

    def __init__(
        self,
        session: BrowserSession,
        base: str,
        init: str,
        values: PageValues,
        deposit: Callable[[str, str, bytes], Path],
        *,
        pictures: bool,
    ) -> None:
        self.deposit = deposit
        self.session, self.values, self.pictures = session, values, pictures
        self._actions = Actions(session, base)
        self._base = base
        self._init = init
        self._documents: set[str] = set()
        self._last: BrowserState | None = None

    async def begin(self, *, opened: str = "") -> BrowserState:
        """Open the first page and prepare it; one that cannot be opened is told in the state.

        Args:
            opened: Token of the document where the tab shows that page already; empty if not.

        Raises:
            SurfaceLostError: The expression that prepares it did not run, so that the episode has
                not begun: on a busy machine a page may take too long.
        """
        error, tab = "", self.session.tab
        if self._base and not opened:
            try:
                await self._actions.execute("goto", {"url": self._base})
            except Refusal as refusal:
                error = str(refusal)
        if not self._init:
            settled = await self._settled()
        elif error:
            raise SurfaceLostError(f"the first page was not prepared: {error}")
        else:
            settled = await self._prepared_first(tab, opened)
        self._last = await self.look(error or settled.late, settled=settled)
        return self._last

    async def _prepared_first(self, tab: Tab, opened: str) -> Settled:
        """Prepare the first page, and wait for it meanwhile.

        A page does what it is asked one after the other, so that it is asked after preparing.

        Raises:
            SurfaceLostError: It was not prepared.
        """
        if opened and tab.page.url == self._base:
            self._documents.add(opened)
            failure = ""
        else:
            failure = await self._recognized(tab)
        if not failure:
            failure, settled = await self._prepare_meanwhile(tab, 0.0 if opened else IDLE_S)
        if failure:
            raise SurfaceLostError(f"the first page was not prepared: {failure}")
        return await self._settled(settled)

    async def _prepare_meanwhile(self, tab: Tab, after_s: float) -> tuple[str, Settled | None]:
        """Evaluate what prepares a tab while it settles.

        Returns:
            The reason of a failure, empty without one; the settled page, or None if it may have
            been seen before it was prepared.
        """
        ends_s: list[float] = []
        preparing = asyncio.ensure_future(evaluate(tab, self._init))
        preparing.add_done_callback(lambda _: ends_s.append(time.monotonic()))
        try:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            settled = await settle(self.session, pictured=self.pictures, seen=True, after_s=after_s)
            is_early = settled.tab is None or not ends_s or settled.told_s - ends_s[0] < IDLE_S
            failure = await preparing
        finally:
            preparing.cancel()
            await asyncio.gather(preparing, return_exceptions=True)
        if is_early:
            settled.drop()
        return failure, None if is_early else settled

    async def step(self, tool: str, arguments: Mapping[str, Any]) -> BrowserState:
        """Execute an action and return what is then seen.

        Raises:
            SurfaceError: The browser has ended.
        """
        session = self.session
        before = self._last or await self.look()
        mutated = _mutations(session)
        session.begin_action(answers_dialog=tool == "dialog")
        error = ""
        try:
            await self._actions.execute(tool, arguments)
        except Refusal as refusal:
            error = str(refusal)
        settled = await self._settled()
        state = await self.look(settled=settled)
        outcome = _outcome(before, state, changed=_mutations(session) > mutated)
        self._last = BrowserState(
            view=state.view,
            tabs=state.tabs,
            dialog=state.dialog,
            downloads=state.downloads,
            console=list(session.console),
            picture=state.picture,
            outcome="error" if error else outcome,
            error=error or settled.late,
        )
        return self._last

    async def prepare(self, tab: Tab) -> str:
        """Evaluate what prepares the first page, if a tab shows that page, and let it settle.

        Returns:
            Why it failed, or what was still going on at its end; empty if nothing was.
        """
        failure = await self._prepared(tab)
        return (await settle(self.session)).late or failure

    async def _prepared(self, tab: Tab) -> str:
        if not self._init:
            return ""
        return await self._recognized(tab) or await evaluate(tab, self._init)

    async def _recognized(self, tab: Tab) -> str:
        """Wait for the first page and note its document; return why it does not show."""
        found = await loaded(tab)
        if found is None:
            return "init: the page did not load"
        if found["url"] != self._base:
            return f"init: the tab shows {found['url'][:200]}"
        self._documents.add(found["token"])
        return ""

    async def _settled(self, settled: Settled | None = None) -> Settled:
        """Let the current page settle, and read the values if it is one that may tell them.

        A document that shows the first page once more, as after a reload, is prepared before.

        Args:
            settled: The page where it has settled just now.
        """
        session, pictured, failure = self.session, self.pictures, ""
        if settled is None:
            settled = await settle(session, pictured=pictured, seen=True)
        tab = settled.tab
        if tab is None:
            return settled
        if self._init:
            is_new = settled.document not in self._documents
            if settled.document and is_new and tab.page.url == self._base:
                settled.drop()
                failure = await self._prepared(tab)
                settled = await settle(session, pictured=pictured, seen=True)
            may_tell = settled.document in self._documents
        else:
            may_tell = _host(tab.page.url) == _host(self._base)
        if may_tell and self.values.wanted and settled.tab is tab and tab.dialog is None:
            await self.values.read(tab)
        return replace(settled, late=failure or settled.late)

    async def remember(self) -> None:
        """Take the present view, without a picture, as what the next action is compared with."""
        self._last = await self.look(picture=False)

    async def inspect(self) -> tuple[BrowserState, list[Document]]:
        """Return what is seen without acting, with a picture, and the nodes of the documents."""
        state = await self.look(picture=True)
        tab = self.session.tab
        if state.view.blocked or tab.dialog is not None:
            return state, []
        return state, await self.session.reader.documents(tab)

    async def look_with_picture(self) -> BrowserState:
        """Return what is seen without acting, with a picture in any case."""
        return await self.look(picture=True)

    async def look(
        self,
        error: str = "",
        *,
        picture: bool | None = None,
        settled: Settled | None = None,
    ) -> BrowserState:
        """Return what is seen without acting.

        Args:
            error: What went wrong before.
            picture: Overrides whether states have a picture.
            settled: The page as it settled just now; what was taken of it then is used.
        """
        session, taken = self.session, None
        tab = session.tab
        pictured = self.pictures if picture is None else picture
        if settled is not None and (settled.tab is not tab or tab.stirred >= settled.told_s):
            settled.drop()  # another tab, document or answer has come since
            settled = None
        taking = None if settled is None else settled.picture
        # An answer may have come while the page was asked.
        fresh = settled is not None and tab.stirred < settled.asked_s
        seeing = session.look(fresh=fresh)
        if pictured and tab.dialog is None:
            stirred = tab.stirred
            view, taken = await asyncio.gather(seeing, taking or capture(tab))
            if taking is not None and tab.stirred > stirred:
                taken = await capture(tab)
        else:
            view = await seeing
        return BrowserState(
            view=view,
            tabs=session.tabs_json(),
            dialog=dialog_json(session.tab),
            downloads=[file.as_json() for file in session.downloads.files],
            console=list(session.console),
            picture=taken,
            error=error,
        )


def with_path(url: str) -> str:
    """Return an address with a path, as browsers show it; an empty one unchanged."""
    return f"{url}/" if url and not urlsplit(url).path else url


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _mutations(session: BrowserSession) -> int:
    return sum(entry.mutating and not entry.refused for entry in session.log.entries)


def _outcome(before: BrowserState, after: BrowserState, *, changed: bool) -> Outcome:
    was, now = before.view, after.view
    if was.url != now.url and now.url != _BLANK:
        return "navigated"
    if was.documents[:1] != now.documents[:1] and not was.blocked and not now.blocked:
        return "navigated"
    same = (
        was.digest == now.digest
        and was.title == now.title
        and was.focused == now.focused
        and before.tabs == after.tabs
        and before.dialog == after.dialog
        and before.downloads == after.downloads
    )
    return "no_change" if same and not changed else "changed"
