"""The browsers of this process: one Chromium for many episodes, contexts made ahead, recycling."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentgym.browser.chromium import Chromium, start_playwright
from agentgym.browser.engine import at_exit
from agentgym.browser.executable import find_executable
from agentgym.browser.picture import capture
from agentgym.browser.proxy import SiteProxy
from agentgym.browser.requests import RequestLog
from agentgym.browser.session import BrowserSession
from agentgym.browser.settling import loaded
from agentgym.browser.tab import PageBusyError, PageFailure, PageGoneError, Tab
from agentgym.errors import SurfaceError
from agentgym.gui.tree import Budget
from agentgym.protocols import Sites

if TYPE_CHECKING:
    from playwright.async_api import Playwright

SERVED: Final = 300
"""Contexts after which a Chromium gets no new ones."""
AGE_S: Final = 3_600.0
MEMORY_MB: Final = 3_000.0
LINGER_S: Final = 20.0
"""Seconds that browsers outlive the last environment that used them."""
_MAKE_S: Final = 30.0
_FIRST_MS: Final = 10_000
_FRESH_S: Final = 5.0
"""Seconds for which a browser without episodes is taken to be alive without being asked."""
_BEGIN_S: Final = 2.0
"""Seconds that an episode has to begin before the next context is made beside it."""
_SHOWN_S: Final = 0.02
"""Seconds in which the first observation of an episode is made from what its page shows."""
_LOOK_EVERY: Final = 10
_SETTINGS: Final = 4
"""Settings for which contexts are kept ready, the latest ones."""


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
        """Whether its browser answers, or did so just now, and its tab is open."""
        try:
            # The pages of another episode may have hung it since.
            if self.chromium.sessions or time.monotonic() - self.made > _FRESH_S:
                await self.session.check_answers()
        except SurfaceError:
            return False
        tabs = self.session.tabs
        return self.chromium.alive and bool(tabs) and not any(tab.crashed for tab in tabs)

    def remove_deposits(self) -> None:
        """Remove the files that were put there."""
        for place in self.chromium.confinement.transfers.glob(f"upload-{self.number}-*"):
            shutil.rmtree(place, ignore_errors=True)


class BrowserPool:
    """Starts, shares and ends browsers; all its methods run on the engine's loop.

    Args:
        spares: Number of contexts to keep ready for each kind of settings that was used lately.
    """

    def __init__(self, spares: int = 1) -> None:
        self.spares = spares
        self.started = 0
        self._playwright: Playwright | None = None
        self._current: dict[bool, Chromium] = {}
        self._retired: set[Chromium] = set()
        self._ready: dict[ContextSettings, list[ReadyContext]] = {}
        self._alone = 0
        self._starting = asyncio.Lock()
        self._users = 0
        self._lingering: asyncio.Task[None] | None = None
        self._making: set[asyncio.Task[None]] = set()

    # --- who uses it ---

    async def hold(self) -> None:
        """Note one more user; browsers stay until the last one has let go."""
        self._users += 1
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None

    async def let_go(self) -> None:
        """Note one user less."""
        self._users -= 1
        if self._users == 0:
            self._lingering = asyncio.ensure_future(self._linger())

    async def _linger(self) -> None:
        await asyncio.sleep(LINGER_S)
        await self.close()

    # --- contexts ---

    async def acquire(self, settings: ContextSettings, *, alone: bool = False) -> ReadyContext:
        """Return a fresh context, from the spares if one is ready.

        Args:
            settings: What it is made with.
            alone: Whether it gets a browser of its own.

        Raises:
            ConfigError: There is no Chromium, or it cannot be confined.
            SurfaceError: It does not start.
        """
        spare = await self._acquired(settings, alone=alone)
        spare.chromium.take(spare.session)
        return spare

    async def _acquired(self, settings: ContextSettings, *, alone: bool) -> ReadyContext:
        for chromium in self._browsers:
            self._take_suspects(chromium)
        if self._alone or alone:
            self._alone = max(0, self._alone - 1)
            return await self._make(replace(settings, first=None), alone=True)
        ready = self._ready.pop(settings, [])
        self._ready[settings] = ready  # it is the latest now
        while ready:
            spare = ready.pop(0)
            if not self._worn(spare.chromium) and await spare.lives():
                break
            await self.discard(spare)
        else:
            # A page takes longer to open ahead than when it is wanted.
            spare = await self._make(replace(settings, first=None))
        if len(ready) < self.spares and self._users:
            task = asyncio.ensure_future(self._replenish(settings, spare.begun))
            self._making.add(task)
            task.add_done_callback(self._making.discard)
        return spare

    def _take_suspects(self, chromium: Chromium) -> None:
        """Give each episode that shared a browser that hung the next one for itself."""
        suspects, chromium.suspects = chromium.suspects, 0
        self._alone += suspects if suspects > 1 else 0

    async def _replenish(self, settings: ContextSettings, begun: asyncio.Event) -> None:
        # The episode that has just begun needs the processors more.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_BEGIN_S):
                await begun.wait()
        await asyncio.sleep(_SHOWN_S)
        # A spare is a convenience: what goes wrong here is told where a context is needed.
        with contextlib.suppress(SurfaceError, TimeoutError):
            spare = await self._make(settings)
            await _warm(spare.session)
            if self._current.get(settings.headed) is spare.chromium and settings in self._ready:
                self._ready[settings].append(spare)
            else:  # it was retired meanwhile, or other settings are used now
                await self.discard(spare)
            for old in list(self._ready)[:-_SETTINGS]:
                for unused in self._ready.pop(old):
                    await self.discard(unused)

    async def _make(self, settings: ContextSettings, *, alone: bool = False) -> ReadyContext:
        from playwright.async_api import Error

        for attempt in (1, 2):
            chromium = await self._chromium(settings.headed, alone=alone)
            try:
                async with asyncio.timeout(_MAKE_S):
                    return await _new_context(chromium, settings)
            except FirstPageError:
                raise
            except asyncio.CancelledError:
                if alone:
                    self._retired.discard(chromium)
                    await chromium.close()
                raise
            except (Error, SurfaceError, TimeoutError) as error:
                # It may have been killed between two episodes: the next one is a new process.
                await self._retire(chromium)
                if attempt == 2:
                    raise SurfaceError(f"no browser context can be made: {error}") from None
        raise AssertionError("the second attempt returns or raises")

    async def _chromium(self, headed: bool, *, alone: bool = False) -> Chromium:
        async with self._starting:
            current = None if alone else self._current.get(headed)
            if current is not None and current.alive and not self._worn(current):
                return current
            if current is not None:
                await self._retire(current)
            if self._playwright is None:
                self._playwright = await start_playwright()
            chromium = Chromium(find_executable(headed=headed), headed=headed)
            await chromium.start(self._playwright)
            self.started += 1
            if alone:
                self._retired.add(chromium)  # it gets no other context
            else:
                self._current[headed] = chromium
            return chromium

    def _worn(self, chromium: Chromium) -> bool:
        """Whether a Chromium is too old to get new contexts."""
        if chromium.served >= SERVED or time.monotonic() - chromium.started > AGE_S:
            return True
        return chromium.served % _LOOK_EVERY == _LOOK_EVERY - 1 and (
            chromium.memory_mb() > MEMORY_MB
        )

    async def discard(self, used: ReadyContext) -> None:
        """Close a context, and its Chromium where it was the last one of a retired one."""
        from playwright.async_api import Error

        used.begun.set()
        used.remove_deposits()
        try:
            async with asyncio.timeout(_MAKE_S):
                await used.session.context.close()
        except Error:
            pass  # the browser has ended
        except TimeoutError:
            # What its pages have begun may go on for ever.
            used.chromium.kill()
        finally:
            # Until then its pages may keep the browser from answering others.
            used.chromium.sessions.discard(used.session)
        if used.proxy is not None:
            await used.proxy.close()
        used.listening.close()
        used.chromium.live -= 1
        if used.chromium in self._retired and used.chromium.live <= 0:
            self._retired.discard(used.chromium)
            await used.chromium.close()

    async def _retire(self, chromium: Chromium) -> None:
        self._take_suspects(chromium)
        if self._current.get(chromium.headed) is chromium:
            del self._current[chromium.headed]
        for ready in self._ready.values():
            for spare in [each for each in ready if each.chromium is chromium]:
                ready.remove(spare)
                await self.discard(spare)
        if chromium.live <= 0 or not chromium.alive:
            self._retired.discard(chromium)
            await chromium.close()
        else:
            self._retired.add(chromium)

    @property
    def busy(self) -> bool:
        """Whether contexts are being made ahead."""
        return bool(self._making)

    async def drop_spares(self) -> None:
        """Close the contexts that were made ahead."""
        for ready in self._ready.values():
            while ready:
                spare = ready.pop()
                await self.discard(spare)

    def processes(self) -> list[int]:
        """Return the process ids of all browsers."""
        return [pid for chromium in self._browsers for pid in chromium.processes()]

    def memory_mb(self) -> float:
        """Return the memory of all browsers, in MiB."""
        return sum(chromium.memory_mb() for chromium in self._browsers)

    @property
    def _browsers(self) -> set[Chromium]:
        return {*self._current.values(), *self._retired}

    async def close(self) -> None:
        """End all browsers. Never raises."""
        for task in list(self._making):
            task.cancel()
        if self._making:
            await asyncio.wait(set(self._making))
        for ready in self._ready.values():
            for spare in ready:
                spare.listening.close()
        self._ready.clear()
        for chromium in self._browsers:
            await chromium.close()
        self._current.clear()
        self._retired.clear()
        playwright, self._playwright = self._playwright, None
        if playwright is not None:
            await playwright.stop()


class FirstPageError(SurfaceError):
    """The page that was to be opened ahead did not open; the browser is not to blame."""


async def _new_context(chromium: Chromium, settings: ContextSettings) -> ReadyContext:
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
                async with asyncio.timeout(_MAKE_S):
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


async def _warm(session: BrowserSession) -> None:
    """Have a tab take its first picture and be read, which take longer than any later ones."""
    with contextlib.suppress(PageBusyError, PageGoneError, PageFailure, SurfaceError):
        await capture(session.tab)
        await session.reader.warm(session.tab)


@lru_cache(maxsize=1)
def browser_pool() -> BrowserPool:
    """Return the pool of this process; to be called on the engine's loop."""
    pool = BrowserPool()
    at_exit(pool.close)
    return pool
