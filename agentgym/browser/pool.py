"""The browsers of this process: one Chromium for many episodes, contexts made ahead, recycling."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agentgym.browser.chromium import Chromium, start_playwright
from agentgym.browser.contexts import (
    MAKE_S,
    ContextSettings,
    FirstPageError,
    ReadyContext,
    new_context,
    warm,
)
from agentgym.browser.engine import at_exit
from agentgym.browser.executable import find_executable
from agentgym.errors import SurfaceError

if TYPE_CHECKING:
    from playwright.async_api import Playwright

SERVED: Final = 300
"""Contexts after which a Chromium gets no new ones."""
AGE_S: Final = 3_600.0
MEMORY_MB: Final = 3_000.0
LINGER_S: Final = 20.0
"""Seconds that browsers outlive the last environment that used them."""
_BEGIN_S: Final = 2.0
"""Seconds that an episode has to begin before the next context is made beside it."""
_SHOWN_S: Final = 0.02
"""Seconds in which the first observation of an episode is made from what its page shows."""
_LOOK_EVERY: Final = 10
_SETTINGS: Final = 4
"""Settings for which contexts are kept ready, the latest ones."""


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
            try:
                await warm(spare.session)
            except BaseException:
                await self.discard(spare)
                raise
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
                async with asyncio.timeout(MAKE_S):
                    return await new_context(chromium, settings)
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
            async with asyncio.timeout(MAKE_S):
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
                if spare.proxy is not None:
                    await spare.proxy.close()
                spare.listening.close()
        self._ready.clear()
        for chromium in self._browsers:
            await chromium.close()
        self._current.clear()
        self._retired.clear()
        playwright, self._playwright = self._playwright, None
        if playwright is not None:
            await playwright.stop()


@lru_cache(maxsize=1)
def browser_pool() -> BrowserPool:
    """Return the pool of this process; to be called on the engine's loop."""
    pool = BrowserPool()
    at_exit(pool.close)
    return pool
