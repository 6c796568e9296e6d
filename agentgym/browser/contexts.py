"""Browser contexts: what they are made with, and how a fresh one is made."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agentgym.browser.chromium import Chromium
from agentgym.browser.picture import capture
from agentgym.browser.proxy import SiteProxy
from agentgym.browser.requests import RequestLog
from agentgym.browser.session import BrowserSession
from agentgym.browser.settling import loaded
from agentgym.browser.tab import PageBusyError, PageFailure, PageGoneError, Tab
from agentgym.errors import SurfaceError
from agentgym.gui.tree import Budget
from agentgym.protocols import Sites

MAKE_S: Final = 30.0
"""Seconds that a context may take to be made, or to be closed."""
_FIRST_MS: Final = 10_000
_FRESH_S: Final = 5.0
"""Seconds for which a browser without episodes is taken to be alive without being asked."""


@dataclass(frozen=True, slots=True)
class FirstPage:
    """A page that is the same at the start of every episode, so that it can be opened ahead.

    Attributes:
        url: Its address.
        version: What tells the content of its sites from any other.
        sites: The sites that answer.
    """

    url: str
    version: str
    sites: Sites = field(compare=False)


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Properties that a context is made with.

    Attributes:
        width: Pixels of the viewport.
        height: Likewise.
        headed: Whether windows are shown.
        budget: Bounds of its trees.
        first: What shows in its page before it is asked for; None for an empty page.
    """

    width: int = 1280
    height: int = 720
    headed: bool = False
    budget: Budget = Budget()
    first: FirstPage | None = None


@dataclass(eq=False, slots=True)
class ReadyContext:
    """A context with one tab, and the socket on which its proxy has to listen.

    Attributes:
        chromium: Its browser.
        session: The context with its tab.
        listening: The socket; closed with the context.
        number: Number of the context in its browser.
        proxy: Serves the socket where a page was opened ahead; closed with the context.
        document: The walker's token of that page's document; empty if none was opened.
        made: `time.monotonic` of when it was ready.
        begun: Set when its episode shows its first page, or will not open one.
    """

    chromium: Chromium
    session: BrowserSession
    listening: socket.socket
    number: int
    proxy: SiteProxy | None = None
    document: str = ""
    made: float = field(default_factory=time.monotonic)
    begun: asyncio.Event = field(default_factory=asyncio.Event)

    def deposit(self, folder: str, name: str, data: bytes) -> Path:
        """Put a file where the browser can read it, and return its path there."""
        place = self.chromium.confinement.transfers / f"upload-{self.number}-{folder}"
        place.mkdir(exist_ok=True)
        path = place / name
        path.write_bytes(data)
        return path

    @property
    def deposited(self) -> int:
        """Bytes of the files that were put there."""
        return sum(
            path.stat().st_size
            for place in self.chromium.confinement.transfers.glob(f"upload-{self.number}-*")
            for path in place.iterdir()
        )

    async def lives(self) -> bool:
        """Whether its browser answers, or did so just now, and its tab is as it was made."""
        try:
            # The pages of another episode may have hung it since.
            if self.chromium.sessions or time.monotonic() - self.made > _FRESH_S:
                await self.session.check_answers()
        except SurfaceError:
            return False
        tabs = self.session.tabs
        # A page that was opened ahead may have left for another one by itself.
        changed = any(tab.crashed or tab.navigated > self.made for tab in tabs)
        return self.chromium.alive and bool(tabs) and not changed

    def remove_deposits(self) -> None:
        """Remove the files that were put there."""
        for place in self.chromium.confinement.transfers.glob(f"upload-{self.number}-*"):
            shutil.rmtree(place, ignore_errors=True)


class FirstPageError(SurfaceError):
    """The page that was to be opened ahead did not open; the browser is not to blame."""


async def new_context(chromium: Chromium, settings: ContextSettings) -> ReadyContext:
    """Return a context whose only network is a socket that the host serves.

    Raises:
        FirstPageError: The page to be opened ahead did not open.
    """
    from playwright.async_api import Error

    listening = await chromium.confinement.listener()
    proxy = context = None
    document = ""
    try:
        context = await chromium.browser.new_context(
            proxy={"server": f"http://127.0.0.1:{listening.getsockname()[1]}"},
            viewport={"width": settings.width, "height": settings.height},
            accept_downloads=True,
            ignore_https_errors=True,
            service_workers="block",
            reduced_motion="reduce",
            color_scheme="light",
        )
        session = BrowserSession(context, RequestLog(), settings.budget, chromium)
        tab = await session.new_tab()
        if settings.first is not None:
            proxy = SiteProxy(settings.first.sites, session.log)
            await proxy.open(listening)
            document = await _open_first(tab, settings.first.url)
    except BaseException:
        if proxy is not None:
            await proxy.close()
        if context is not None:
            with contextlib.suppress(Error, TimeoutError):
                async with asyncio.timeout(MAKE_S):
                    await context.close()
        listening.close()
        raise
    chromium.served += 1
    chromium.live += 1
    return ReadyContext(chromium, session, listening, chromium.served, proxy, document)


async def _open_first(tab: Tab, url: str) -> str:
    """Open a page ahead, and return the token of its document."""
    from playwright.async_api import Error

    try:
        await tab.page.goto(url, wait_until="commit", timeout=_FIRST_MS)
        found = await loaded(tab)
    except Error as error:
        raise FirstPageError(f"{url} did not open ahead: {error}") from None
    if found is None:
        raise FirstPageError(f"{url} did not load ahead")
    return str(found["token"])


async def warm(session: BrowserSession) -> None:
    """Have a tab be read and take its first picture, which take longer than any later ones."""
    with contextlib.suppress(PageBusyError, PageGoneError, PageFailure, SurfaceError):
        await session.reader.warm(session.tab)
        await capture(session.tab)  # last, because the next one is then sooner there
