"""The `browser` surface: the web sites of an episode in a Chromium that episodes share."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final, TypeVar

from agentgym.browser.contexts import ContextSettings, FirstPage, ReadyContext
from agentgym.browser.dom import Document
from agentgym.browser.drive import BrowserState, Driver, with_path
from agentgym.browser.engine import engine
from agentgym.browser.fork import anchor_of, load_browser, save_browser
from agentgym.browser.pool import BrowserPool, browser_pool
from agentgym.browser.proxy import SiteProxy
from agentgym.browser.tools import TOOLS
from agentgym.browser.values import PageValues
from agentgym.browser.view import PageView
from agentgym.errors import GuestFileError, SurfaceEndedError, SurfaceError, SurfaceLostError
from agentgym.gui.tree import Budget
from agentgym.protocols import ASGIMessage, Sites, SurfaceContext
from agentgym.records import Action, Audit, Image, Json, Observation, SurfaceConfig, ToolSpec
from agentgym.sandbox.absent import NoSandbox
from agentgym.surfaces.browser_observations import DATA_BYTES, BrowserObservations, BrowserOptions
from agentgym.surfaces.graphical import limits_of, one_line, read_options, refused
from agentgym.surfaces.truncation import bounded

T = TypeVar("T")

_PAGE_CHARS: Final = 60_000
_UPLOAD_BYTES: Final = 8 * 2**20
_UPLOADS_BYTES: Final = 256 * 2**20
"""Bytes of all files that one episode has put into file fields."""
_NAME_BYTES: Final = 255
_REPEATED: Final = 2
"""Episodes of an environment from which on its first page is opened ahead."""


class BrowserKind:
    """The SurfaceKind `browser`; episodes share the browser process, each in a fresh context.

    Args:
        config: Its options; see `BrowserOptions`.

    Raises:
        ConfigError: An option is unknown or out of range.
    """

    name = "browser"
    uses_sites = True

    def __init__(self, config: SurfaceConfig) -> None:
        self.options = read_options(BrowserOptions, "browser", config.options)
        self.limits = limits_of(
            self.options,
            (self.options.width, self.options.height),
            text_chars=_PAGE_CHARS,
            data_bytes=DATA_BYTES,
        )
        self._pool: BrowserPool | None = None
        self._attached = 0

    def tools(self) -> Sequence[ToolSpec]:
        """Return the actions of a browser."""
        return TOOLS

    async def open(self) -> None:
        """Note that the browser is needed; the first `attach` starts it."""
        self._pool = await engine().run(_held_pool())

    async def attach(self, context: SurfaceContext) -> BrowserSurface:
        """Return a surface over a fresh context, which opens the first page when it is used.

        Raises:
            ConfigError: There is no Chromium, or it cannot be confined.
            SurfaceError: The browser does not start.
        """
        if self._pool is None:
            raise SurfaceError("the browser kind is not open")
        options, self._attached = self.options, self._attached + 1
        settings = ContextSettings(
            options.width,
            options.height,
            options.headed,
            Budget(options.nodes, options.text_bytes, options.tree_ms),
            self._first_page(context.sites),
        )
        ready = await engine().run(self._pool.acquire(settings, alone=context.alone))
        return BrowserSurface(self._pool, ready, options, context)

    def _first_page(self, sites: Sites | None) -> FirstPage | None:
        """Return the page to open ahead; None if it depends on the episode or may be the last."""
        start = self.options.start or ("" if sites is None else sites.start)
        lasting = sites is not None and sites.version and "{{seed}}" not in start
        if not self.options.ahead or sites is None or not lasting or self._attached < _REPEATED:
            return None
        return FirstPage(with_path(start), sites.version, sites)

    async def close(self) -> None:
        """Let go of the browser, which ends some seconds after its last user."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await engine().run(pool.let_go())


async def try_browser() -> float:
    """Start the browser and open a page that the host answers; return the milliseconds it took.

    Raises:
        ConfigError: There is no Chromium, or it cannot be confined.
        SurfaceError: It does not start, or does not show the page.
    """
    began = time.monotonic()
    kind = BrowserKind(SurfaceConfig((), {"screenshot": False}, False, 1_000))
    await kind.open()
    try:
        sites = Sites(_hello, frozenset(("hello.example",)), "http://hello.example/")
        surface = await kind.attach(SurfaceContext(NoSandbox(), sites=sites))
        seen = await surface.observe()
        await surface.close()
    finally:
        await kind.close()
    if "title: Hello" not in seen.text:
        raise SurfaceError(f"the browser does not show a page: {seen.text[:300]}")
    return 1000 * (time.monotonic() - began)


async def _hello(
    scope: ASGIMessage,
    receive: Callable[[], Awaitable[ASGIMessage]],
    send: Callable[[ASGIMessage], Awaitable[None]],
) -> None:
    del scope, receive
    headers = [(b"content-type", b"text/html"), (b"content-length", b"20")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"<title>Hello</title>"})


class BrowserSurface:
    """A Surface over one browser context.

    Args:
        pool: The pool that takes the context back.
        ready: The context.
        options: Options of the kind.
        context: The sites and the computer of the episode.
    """

    def __init__(
        self,
        pool: BrowserPool,
        ready: ReadyContext,
        options: BrowserOptions,
        context: SurfaceContext,
    ) -> None:
        self._pool, self._ready, self._options, self._context = pool, ready, options, context
        self.log = ready.session.log
        self._proxy = SiteProxy(context.sites, self.log)
        self._driver: Driver | None = None
        self._state: BrowserState | None = None
        self._values = PageValues(options.state, options.until)
        self._closed = False
        self._observations = BrowserObservations(options)

    @property
    def ended(self) -> bool:
        """Whether the page has ended the episode."""
        return self._values.ended

    def audit(self) -> Audit:
        """Return the requests and the state of the page."""
        requests = tuple(entry.record() for entry in self.log.entries)
        return Audit(requests=requests, page_state=dict(self._values.values))

    async def _live(self, *, open_start: bool = True) -> Driver:
        """Return the driver; the first use serves the network and opens the first page.

        Raises:
            SurfaceError: The surface is closed, or the browser has ended.
        """
        if self._closed:
            raise SurfaceError("the browser surface is closed; attach another one")
        if self._driver is None:
            if self._ready.proxy is None:
                await self._proxy.open(self._ready.listening)
            start = self._options.start
            if not start and self._context.sites is not None:
                start = self._context.sites.start
            self._driver = self._drive(with_path(self._seeded(start)))
            if open_start:
                beginning = self._driver.begin(opened=self._ready.document)
                self._state = await self._run(_begun(self._ready, beginning))
        return self._driver

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the engine's loop.

        Raises:
            SurfaceEndedError: The pages of this episode are to blame for the end of the browser.
        """
        try:
            return await engine().run(work)
        except SurfaceLostError as error:
            if self._ready.session.blamed:
                raise SurfaceEndedError(self._ready.session.blamed) from error
            raise

    def _seeded(self, text: str) -> str:
        return text.replace("{{seed}}", str(self._context.seed))

    def _drive(self, start: str) -> Driver:
        return Driver(
            self._ready.session,
            start,
            self._seeded(self._options.init),
            self._values,
            self._ready.deposit,
            pictures=self._options.screenshot,
        )

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid action; what a page or the agent does wrong is an observation.

        Raises:
            SurfaceEndedError: The browser has ended, and this episode is to blame.
            SurfaceError: The browser has ended, or the surface is closed.
        """
        driver = await self._live()
        try:
            return await self._call(driver, action)
        except SurfaceLostError as error:
            if not self._context.alone:
                raise
            raise SurfaceEndedError(f"{error}, and no other episode used it") from error

    async def _call(self, driver: Driver, action: Action) -> Observation:
        arguments: dict[str, Any] = dict(action.arguments)
        if action.tool == "read_page":
            return await self._run(self._read_page(driver))
        if action.tool == "screenshot":
            return await self._screenshot(driver, marks=bool(arguments.get("marks", False)))
        if action.tool == "upload":
            try:
                arguments["files"] = await self._files(driver, arguments["files"])
            except GuestFileError as error:
                return refused(str(error))
        self._state = None
        return self._observations.of(await self._run(driver.step(action.tool, arguments)))

    async def observe(self) -> Observation:
        """Return the present view."""
        driver = await self._live()
        state, self._state = self._state, None
        if state is None:
            state = await self._run(driver.look())
        return self._observations.of(state)

    async def tree(self) -> PageView:
        """Return the present tree, without a picture."""
        driver = await self._live()
        return await engine().run(driver.session.look())

    async def inspect(self) -> tuple[BrowserState, Image | None, list[Document]]:
        """Return what is seen now, its picture, and the nodes of the documents, all unrecorded."""
        driver = await self._live()
        state, documents = await engine().run(driver.inspect())
        return state, self._observations.picture(state, marks=False), documents

    async def anchor(self) -> str:
        """Return a hash of what the tabs show, of dialogs, downloads and values of the page."""
        driver = await self._live()
        return await engine().run(anchor_of(driver))

    async def save(self) -> Mapping[str, Json]:
        """Return the state that `load` can bring another context into; see docs/browser.md.

        Raises:
            UnsupportedError: The page cannot be saved now; the message says why.
        """
        driver = await self._live()
        return await engine().run(save_browser(driver))

    async def load(self, state: Mapping[str, Json]) -> None:
        """Bring the context, which has not been used yet, into a saved state.

        Raises:
            UnsupportedError: The pages do not come back as they were.
        """
        if self._driver is not None or self._closed:
            raise SurfaceError("load: the browser surface is in use already")
        try:
            driver = await self._live(open_start=False)
            await engine().run(_begun(self._ready, load_browser(driver, state)))
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise SurfaceError(f"load: expected what `save` returned: {error!r}") from None

    async def close(self) -> None:
        """Close the context. Never raises."""
        if self._closed:
            return
        self._closed = True
        driver, self._driver = self._driver, None
        # The pool closes the socket on which the proxy listens.
        await self._proxy.close()
        await engine().run(_end(self._pool, self._ready, driver))

    # --- tools that do not act ---

    async def _read_page(self, driver: Driver) -> Observation:
        text = await driver.session.readable()
        return Observation(
            bounded(text, most=_PAGE_CHARS), data={"url": driver.session.tab.shown_url}
        )

    async def _screenshot(self, driver: Driver, *, marks: bool) -> Observation:
        state = await self._run(driver.look_with_picture())
        if state.picture is None:
            return refused(f"no picture can be taken: {state.view.blocked or 'the page is busy'}")
        return Observation(
            f"url: {one_line(state.view.url)}\ntitle: {one_line(state.view.title)}",
            image=self._observations.picture(state, marks=marks),
            data={"url": state.view.url, "marks": marks},
        )

    async def _files(self, driver: Driver, given: Sequence[Mapping[str, str]]) -> list[str]:
        """Put the files of an upload where the browser can read them."""
        paths = []
        for number, file in enumerate(given):
            name = PurePosixPath(file["name"]).name or "file"
            if len(name.encode("utf-8", "replace")) > _NAME_BYTES:
                raise GuestFileError(f"{name!r} has more than {_NAME_BYTES} bytes")
            if "text" in file:
                data = file["text"].encode("utf-8", "replace")
            elif "path" in file:
                data = await self._context.sandbox.read_file(file["path"], max_bytes=_UPLOAD_BYTES)
            else:
                data = driver.session.downloads.content(name)
            if self._ready.deposited + len(data) > _UPLOADS_BYTES:
                raise GuestFileError(f"all uploads have more than {_UPLOADS_BYTES:,} bytes")
            paths.append(str(self._ready.deposit(f"{number}", name, data)))
        return paths


async def _held_pool() -> BrowserPool:
    pool = browser_pool()
    await pool.hold()
    return pool


async def _begun(ready: ReadyContext, beginning: Awaitable[T]) -> T:
    try:
        return await beginning
    finally:
        ready.begun.set()


async def _end(pool: BrowserPool, ready: ReadyContext, driver: Driver | None) -> None:
    if driver is not None:
        ready.session.stop()
    await pool.discard(ready)
