"""One browser context of one episode: its tabs, dialogs, downloads, console and requests."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from agentgym.browser.downloads import Downloads
from agentgym.browser.reader import Reader
from agentgym.browser.requests import RequestLog
from agentgym.browser.tab import PageBusyError, PageFailure, PageGoneError, Tab
from agentgym.browser.view import PageView
from agentgym.errors import SurfaceEndedError, SurfaceLostError
from agentgym.gui.references import References
from agentgym.gui.tree import Budget
from agentgym.records import Json

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, ConsoleMessage, Dialog, Page

    from agentgym.browser.chromium import Chromium

LOAD_S: Final = 10.0
"""Seconds that a page may take to load; the action then says that it has not."""
TABS: Final = 10
DIALOGS: Final = 20
_CONSOLE: Final = 20
_MESSAGE_CHARS: Final = 300
_OPENING_S: Final = 1.0
_BROWSER_S: Final = 10.0
_BUSY: Final = 0.5
"""Processors that a browser must have used in that time for its pages to be to blame."""


class BrowserSession:
    """A browser context in use; lives on the engine's loop.

    Args:
        context: Playwright's context.
        log: Its requests.
        budget: Bounds of its trees.
        chromium: The browser.

    Attributes:
        tabs: Its open tabs, in the order of their opening.
        tab: The tab that actions concern.
        downloads: Files that were downloaded.
        console: Errors that pages reported since the last action.
        references: References of elements.
        is_alone: Whether no other episode has used the browser while this one did.
        blamed: Why its pages are to blame for the end of the browser; empty if they are not.
        reader: Reads its tabs.
    """

    def __init__(
        self, context: BrowserContext, log: RequestLog, budget: Budget, chromium: Chromium
    ) -> None:
        self.context, self.log, self._chromium = context, log, chromium
        self.blamed, self.is_alone = "", True
        self.references = References()
        self.tabs: list[Tab] = []
        self.downloads = Downloads(log, self.note)
        self.console: list[str] = []
        self.reader = Reader(self.references, budget)
        self._current: Tab | None = None
        self._pending: set[asyncio.Task[None]] = set()
        self._dialogs = 0
        self._known: dict[Page, Tab] = {}
        self._wanted = False
        self._opening_until = 0.0
        context.on("page", self._opened)

    @property
    def tab(self) -> Tab:
        """The tab that actions concern.

        Raises:
            SurfaceEndedError: Its pages have kept the browser from answering.
            SurfaceError: The browser has ended.
        """
        self.check_alive()
        if self._current is None:
            raise SurfaceLostError("the browser context has lost its tabs")
        return self._current

    def check_alive(self) -> None:
        """Raise SurfaceError if the browser has ended, or its pages are to blame for that."""
        if self.blamed:
            raise SurfaceEndedError(self.blamed)
        if not self._chromium.alive:
            raise SurfaceLostError("the browser has ended during the episode")

    # --- tabs ---

    async def new_tab(self) -> Tab:
        """Open a tab and make it the current one."""
        self._wanted = True
        try:
            page = await self.context.new_page()
            await self.settle_pages()
        finally:
            self._wanted = False
        self._current = await self.adopt(page)
        return self._current

    def _opened(self, page: Page) -> None:
        self._opening_until = 0.0
        if page in self._known:
            return
        if len(self._known) >= TABS and not self._wanted:
            self.note(f"a new tab was blocked: there are {TABS} already")
            self._spawn(page.close())
            return
        wanted, tab = self._wanted, self._meet(page)
        self._spawn(self._adopt_popup(tab, wanted=wanted))

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._pending.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._pending.discard(task)
        if not task.cancelled():
            task.exception()  # a page that closed at once; what is left is seen in the next view

    async def settle_pages(self) -> None:
        """Wait until new tabs and files are known."""
        if self._pending:
            await asyncio.wait(set(self._pending), timeout=LOAD_S)

    async def _adopt_popup(self, tab: Tab, *, wanted: bool) -> None:
        await self._prepare(tab)
        if not wanted:
            self._current = tab

    def _opens_window(self, _: object) -> None:
        self._opening_until = time.monotonic() + _OPENING_S

    async def adopt(self, page: Page) -> Tab:
        """Return the tab of a page; a page seen for the first time becomes one."""
        tab = self._known.get(page) or self._meet(page)
        await self._prepare(tab)
        return tab

    def _meet(self, page: Page) -> Tab:
        tab = Tab(page)
        self._known[page] = tab
        page.on("dialog", lambda dialog: self._dialog(tab, dialog))
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.note(f"{error.name}: {error.message}"))
        page.on("download", lambda download: self._spawn(self.downloads.take(download)))
        page.on("close", lambda _: self._closed(tab))
        return tab

    async def _prepare(self, tab: Tab) -> None:
        if tab in self.tabs:
            return
        self.tabs.append(tab)
        await tab.prepare()
        tab.cdp.on("Page.windowOpen", self._opens_window)
        tab.cdp.on("Page.downloadProgress", self._progress)
        if self._current is None:
            self._current = tab

    def _closed(self, tab: Tab) -> None:
        if tab in self.tabs:
            self.tabs.remove(tab)
        self._known.pop(tab.page, None)
        if self._current is tab:
            self._current = self.tabs[-1] if self.tabs else None

    def switch(self, number: int) -> None:
        """Make another tab the current one, by its number from 1."""
        self._current = self.tabs[number - 1]

    async def close_tab(self, tab: Tab) -> None:
        """Close a tab; a new empty one opens where it was the last."""
        with contextlib.suppress(PageBusyError):
            await tab.unless_held(tab.page.close())
        self._closed(tab)
        if not self.tabs:
            await self.new_tab()

    # --- what pages report ---

    def note(self, message: str) -> None:
        """Keep an error of a page for the next observation."""
        if len(self.console) < _CONSOLE:
            self.console.append(message[:_MESSAGE_CHARS])

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.note(message.text)

    def _dialog(self, tab: Tab, dialog: Dialog) -> None:
        self._dialogs += 1
        if dialog.type == "beforeunload":
            self._spawn(dialog.accept())
        elif tab.silenced or self._dialogs > DIALOGS:
            if not tab.silenced:
                self.note(f"more than {DIALOGS} dialogs in a row: this page opens no more of them")
            tab.silenced = True
            self._spawn(dialog.dismiss())
        else:
            tab.dialog = dialog
            tab.held.set()

    async def answer_dialog(self, tab: Tab, *, accept: bool, text: str | None) -> None:
        """Answer the dialog of a tab, so that the page goes on."""
        dialog, tab.dialog = tab.dialog, None
        tab.held.clear()
        assert dialog is not None
        if not accept:
            await tab.unless_held(dialog.dismiss())
        elif text is None or dialog.type != "prompt":
            await tab.unless_held(dialog.accept())
        else:
            await tab.unless_held(dialog.accept(text))

    def _progress(self, event: dict[str, Any]) -> None:
        for ending in self.downloads.grow(event):
            self._spawn(ending)

    # --- time ---

    def begin_action(self, *, answers_dialog: bool = False) -> None:
        """Forget what concerned the last action only.

        Args:
            answers_dialog: Whether the action only answers a dialog; the dialogs of a page are then
                counted on, so that a storm of them ends.
        """
        self.console.clear()
        if not answers_dialog:
            self._dialogs = 0
        self.log.begin_step()
        self.tab.begin_action()

    def expects(self, tab: Tab) -> bool:
        """Whether a document, an answer or a new tab is still to come."""
        now = time.monotonic()
        opening = bool(self._pending) or now < self._opening_until
        # A download is reported a moment after its answer has ended.
        awaited = self.log.attachments > self.downloads.seen
        opening = opening or (awaited and now < self.log.ended + _OPENING_S)
        return opening or tab.loading or self.log.open_in_step > 0 or tab is not self.tab

    async def look(self, *, fresh: bool = False) -> PageView:
        """Return the present view of the current tab.

        Args:
            fresh: Whether nothing has happened since the reader took a snapshot of it.
        """
        tab = self.tab
        if tab.dialog is not None:
            return PageView(tab.shown_url, blocked="a dialog is open")
        view = await self.reader.read(tab, fresh=fresh)
        if view.blocked and tab.dialog is None and not tab.crashed:
            await self.check_answers()
        if not view.blocked:
            tab.title, tab.url = view.title, view.url
        return view

    async def check_answers(self) -> None:
        """Check that the browser itself answers, whether or not a page does.

        One that is too busy to answer hangs for ever, so it is ended. An episode that had it for
        itself is to blame. Those that shared it are played again, and are then alone.

        Raises:
            SurfaceEndedError: Its own pages keep the browser from answering.
            SurfaceLostError: It does not, so that the episode cannot go on.
        """
        before_s, began = self._chromium.processor_s(), time.monotonic()
        if await self._answers(_BROWSER_S):
            return
        took_s = time.monotonic() - began
        if self._chromium.processor_s() - before_s > _BUSY * took_s:
            if self.is_alone:
                self.blamed = f"its pages kept the browser from answering for {took_s:.0f} s"
            self._chromium.kill()
        self.check_alive()
        raise SurfaceLostError("the browser does not answer")

    async def _answers(self, within_s: float) -> bool:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(within_s):
                await self.context.cookies("http://localhost/")
        except (TimeoutError, Error):
            self.check_alive()
            return False
        return True

    async def readable(self) -> str:
        """Return the readable text of the current page, its frames included."""
        tab = self.tab
        if tab.dialog is not None:
            return "error: a dialog is open; answer it with dialog"
        try:
            return await self.reader.text(tab)
        except (PageBusyError, PageGoneError, PageFailure) as error:
            return f"error: {error}"

    def stop(self) -> None:
        """End what goes on beside the actions; the context is closed by its pool."""
        for task in list(self._pending):
            task.cancel()
        self.downloads.remove()

    def tabs_json(self) -> list[Json]:
        """Return the tabs as an observation shows them; the current one is marked."""
        return [
            {
                "number": number,
                "url": tab.url or tab.shown_url,
                "title": tab.title,
                "current": tab is self._current,
            }
            for number, tab in enumerate(self.tabs, 1)
        ]


def dialog_json(tab: Tab) -> Mapping[str, Json] | None:
    """Return the open dialog of a tab; None if none is open."""
    if tab.dialog is None:
        return None
    told: dict[str, Json] = {"type": tab.dialog.type, "message": tab.dialog.message[:1_000]}
    if tab.dialog.default_value:
        told["default"] = tab.dialog.default_value[:200]
    return told
