"""One step in a browser: the action, the settling, the view, and what the action has done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from agentgym.browser.actions import Actions
from agentgym.browser.dom import Document
from agentgym.browser.picture import capture
from agentgym.browser.session import BrowserSession, dialog_json
from agentgym.browser.settling import Settled, loaded, settle
from agentgym.browser.tab import Tab
from agentgym.browser.values import PageValues, evaluate
from agentgym.browser.view import PageView
from agentgym.errors import SurfaceLostError
from agentgym.gui.refusal import Refusal
from agentgym.records import Json

Outcome: TypeAlias = Literal["changed", "no_change", "navigated", "error"]
_BLANK: Final = "about:blank"


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

    async def begin(self, *, opened: bool = False) -> BrowserState:
        """Open the first page and prepare it; one that cannot be opened is told in the state.

        Args:
            opened: Whether the tab shows that page already.

        Raises:
            SurfaceLostError: The expression that prepares it did not run, so that the episode has
                not begun: on a busy machine a page may take too long.
        """
        error = ""
        if self._base and not opened:
            try:
                await self._actions.execute("goto", {"url": self._base})
            except Refusal as refusal:
                error = str(refusal)
        failure = await self._prepared(self.session.tab)
        if self._init and (error or failure):
            raise SurfaceLostError(f"the first page was not prepared: {error or failure}")
        settled = await self._settled()
        self._last = await self.look(error or settled.late, taking=self._picture_of(settled))
        return self._last

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
        state = await self.look(taking=self._picture_of(settled))
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
        found = await loaded(tab)
        if found is None:
            return "init: the page did not load"
        if found["url"] != self._base:
            return f"init: the tab shows {found['url'][:200]}"
        self._documents.add(found["token"])
        return await evaluate(tab, self._init)

    def _picture_of(self, settled: Settled) -> Awaitable[bytes | None] | None:
        return settled.picture if settled.tab is self.session.tab else None

    async def _settled(self) -> Settled:
        """Let the current page settle, and read the values if it is one that may tell them.

        A document that shows the first page once more, as after a reload, is prepared before.
        """
        settled, failure = await settle(self.session, pictured=self.pictures), ""
        tab = settled.tab
        if tab is None:
            return settled
        if self._init:
            is_new = settled.document not in self._documents
            if settled.document and is_new and tab.page.url == self._base:
                failure = await self._prepared(tab)
                settled = await settle(self.session, pictured=self.pictures)
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
        taking: Awaitable[bytes | None] | None = None,
    ) -> BrowserState:
        """Return what is seen without acting.

        Args:
            error: What went wrong before.
            picture: Overrides whether states have a picture.
            taking: A picture that is being taken already.
        """
        session, taken = self.session, None
        tab = session.tab
        pictured = self.pictures if picture is None else picture
        if pictured and tab.dialog is None:
            stirred = tab.stirred
            view, taken = await asyncio.gather(session.look(), taking or capture(tab))
            if taking is not None and tab.stirred > stirred:
                taken = await capture(tab)  # another document or answer has come since
        else:
            view = await session.look()
        return BrowserState(
            view=view,
            tabs=session.tabs_json(),
            dialog=dialog_json(session.tab),
            downloads=[file.as_json() for file in session.downloads],
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
