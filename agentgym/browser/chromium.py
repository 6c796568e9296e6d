"""One running Chromium: its process, its contexts, its memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from agentgym.browser.confinement import Confinement
from agentgym.browser.executable import INSTALL, Executable, can_confine
from agentgym.browser.memory import memory_mb, watch_memory
from agentgym.errors import ConfigError, MissingExtraError, SurfaceError, SurfaceLostError

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

START_S: Final = 60
_CLOSE_S: Final = 10
ARGUMENTS: Final = (
    "--lang=en-US",
    "--disable-gpu",
    "--disable-site-isolation-trials",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=512",
    "--disable-background-networking",
    "--disable-domain-reliability",
    "--no-pings",
    "--deny-permission-prompts",
)
"""Cross-origin frames share the process of their page, so one session sees all of a page."""


async def start_playwright() -> Playwright:
    """Start Playwright's driver.

    Raises:
        MissingExtraError: Playwright is not installed.
    """
    try:
        from playwright.async_api import async_playwright
    except ImportError:
        raise MissingExtraError("playwright", "pip install 'agentgym-suite[web]'") from None
    return await async_playwright().start()


class Context(Protocol):
    """A context in use, as its browser knows it.

    Attributes:
        is_alone: Whether no other episode has used the browser while this one did.
    """

    is_alone: bool


class Chromium:
    """A Chromium in namespaces of its own; `start` it once.

    Attributes:
        confinement: Its files and network.
        started: `time.monotonic` of its start.
        served: Number of contexts it has had.
        live: Number of contexts it has.
        sessions: The contexts in use.
        suspects: How many were in use when it was ended because it hung.
    """

    def __init__(self, executable: Executable, *, headed: bool = False) -> None:
        self.executable, self.headed = executable, headed
        self.confinement = Confinement(executable)
        self.started = time.monotonic()
        self.served = self.live = self.suspects = 0
        self.sessions: set[Context] = set()
        self._killed = False
        self._browser: Browser | None = None
        self._roots: list[int] = []
        self._watching: asyncio.Task[None] | None = None

    async def start(self, playwright: Playwright) -> None:
        """Start the process.

        Raises:
            ConfigError: It cannot be confined on this machine.
            SurfaceError: It does not start.
        """
        from playwright.async_api import Error

        if not can_confine():
            self.confinement.close()
            raise ConfigError(
                "the browser is confined by bubblewrap: install the package bubblewrap"
            )
        try:
            self._browser, _ = await asyncio.gather(
                playwright.chromium.launch(
                    executable_path=self.confinement.script,
                    headless=not self.headed,
                    chromium_sandbox=True,
                    args=list(ARGUMENTS),
                    downloads_path=self.confinement.transfers,
                    timeout=START_S * 1000,
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                ),
                self.confinement.connected(),
            )
        except Error as error:
            self.confinement.close()
            said = str(error).strip().splitlines()
            raise SurfaceError(
                f"{self.executable.path} does not start: {' '.join(said[:3])}; {INSTALL}"
            ) from None
        except BaseException:
            self.confinement.close()
            raise
        self._watching = asyncio.ensure_future(watch_memory(self))

    @property
    def browser(self) -> Browser:
        """Playwright's browser.

        Raises:
            SurfaceError: The process has ended.
        """
        if self._browser is None or not self._browser.is_connected():
            raise SurfaceLostError("the browser has ended")
        return self._browser

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return not self._killed and self._browser is not None and self._browser.is_connected()

    def take(self, session: Context) -> None:
        """Note that an episode uses a context, and with whom it shares the browser."""
        self.sessions.add(session)
        if len(self.sessions) > 1:
            for each in self.sessions:
                each.is_alone = False

    def memory_mb(self) -> float:
        """Return the proportional memory of its processes, in MiB; 0 if it cannot be read."""
        return memory_mb(self.processes())

    def processes(self) -> list[int]:
        """Return the ids of its processes on the host, the launcher first."""
        script = str(self.confinement.script.parent / "control").encode()
        if not any(script in _command_line(Path(f"/proc/{pid}")) for pid in self._roots):
            self._roots = [
                int(folder.name)
                for folder in Path("/proc").iterdir()
                if folder.name.isdigit() and script in _command_line(folder)
            ]
        found = list(self._roots)
        for pid in found:
            for child in _children(pid):
                if child not in found:
                    found.append(child)
        return found

    def processor_s(self) -> float:
        """Return the seconds of a processor that its present processes have used."""
        return sum(_processor_s(pid) for pid in self.processes())

    def kill(self) -> None:
        """End the process without asking it, because it hangs."""
        self._killed, self.suspects = True, len(self.sessions)
        self._end()

    async def close(self) -> None:
        """End the process. Never raises."""
        from playwright.async_api import Error

        browser, self._browser = self._browser, None
        if browser is not None:
            with contextlib.suppress(Error, TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await browser.close()
        self._end()

    def _end(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        self.confinement.close()


def _command_line(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


def _children(pid: int) -> list[int]:
    children: list[int] = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            children += [int(child) for child in tasks.read_text().split()]
    return children


def _processor_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
