"""The `browser` surface: the web sites of an episode in a Chromium that episodes share."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agentgym.browser.drive import BrowserState, Driver
from agentgym.browser.engine import engine
from agentgym.browser.fork import load_browser, save_browser
from agentgym.browser.pool import BrowserPool, ContextSettings, ReadyContext, browser_pool
from agentgym.browser.proxy import SiteProxy
from agentgym.browser.tools import TOOLS
from agentgym.browser.values import PageValues
from agentgym.browser.view import PageView
from agentgym.errors import (
    ConfigError,
    GuestFileError,
    NotFoundError,
    SurfaceError,
)
from agentgym.gui.marks import with_marks
from agentgym.gui.tree import Budget, bounded_lines, changed_lines
from agentgym.protocols import ASGIMessage, Sites, SurfaceContext
from agentgym.records import (
    Action,
    Audit,
    Effect,
    Image,
    Json,
    Observation,
    ObservationLimits,
    SurfaceConfig,
    ToolSpec,
)
from agentgym.sandbox.absent import NoSandbox
from agentgym.surfaces.truncation import bounded, pixels

_REMARKS_BYTES: Final = 16_384
_DATA_BYTES: Final = 200_000
_PAGE_CHARS: Final = 60_000
_UPLOAD_BYTES: Final = 8 * 2**20


class BrowserOptions(BaseModel):
    """The options of `[surface.browser]`.

    Attributes:
        start: Address opened first; empty for that of the environment's sites.
        width: Pixels of the viewport.
        height: Likewise.
        screenshot: Whether every observation has a picture of the viewport.
        marks: Whether those pictures carry the references of elements.
        init: Expression of JavaScript that is evaluated in the first page, ``{{seed}}`` filled in.
        state: Expressions of JavaScript by name: values that are read from the page after every
            action, unseen by the agent, for `evidence.page_state`.
        until: Name of the value that ends the episode once it is true, and keeps all values.
        nodes: Largest number of nodes in a tree.
        text_bytes: Bytes of a tree's text.
        tree_ms: Milliseconds that reading one document may take.
        diff: Whether a tree of the same page is told by its changes since the last observation.
        headed: Whether the browser shows windows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    start: str = ""
    width: int = Field(default=1280, ge=100, le=4_000)
    height: int = Field(default=720, ge=100, le=4_000)
    screenshot: bool = True
    marks: bool = False
    init: str = ""
    state: dict[str, str] = Field(default_factory=dict)
    until: str = ""
    nodes: int = Field(default=1_000, ge=1, le=10_000)
    text_bytes: int = Field(default=60_000, ge=1_000, le=1_000_000)
    tree_ms: int = Field(default=400, ge=20, le=5_000)
    diff: bool = False
    headed: bool = False

    @model_validator(mode="after")
    def _until_is_read(self) -> BrowserOptions:
        if self.until and self.until not in self.state:
            raise ValueError(f"until: expected one of state = {sorted(self.state)}")
        return self


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
        self.options = _read(config.options)
        self.limits = ObservationLimits(
            text_bytes=max(self.options.text_bytes, 4 * _PAGE_CHARS) + _REMARKS_BYTES,
            data_bytes=_DATA_BYTES + _REMARKS_BYTES,
            image_width=self.options.width,
            image_height=self.options.height,
        )
        self._pool: BrowserPool | None = None

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
        settings = ContextSettings(self.options.width, self.options.height, self.options.headed)
        ready = await engine().run(self._pool.acquire(settings))
        return BrowserSurface(self._pool, ready, self.options, context)

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
        self.log = ready.log
        self._proxy = SiteProxy(context.sites, ready.log)
        self._driver: Driver | None = None
        self._state: BrowserState | None = None
        self._values = PageValues(options.state, options.until)
        self._closed = False
        self._told: tuple[tuple[str, ...], list[str]] = ((), [])

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
            await self._proxy.open(self._ready.listening)
            start = self._options.start
            if not start and self._context.sites is not None:
                start = self._context.sites.start
            self._driver = await engine().run(self._drive(self._seeded(start)))
            if open_start:
                self._state = await engine().run(self._driver.begin())
        return self._driver

    def _seeded(self, text: str) -> str:
        return text.replace("{{seed}}", str(self._context.seed))

    async def _drive(self, start: str) -> Driver:
        options = self._options
        session = self._ready.session(Budget(options.nodes, options.text_bytes, options.tree_ms))
        await session.adopt(self._ready.page)
        return Driver(
            session,
            start,
            self._seeded(options.init),
            self._values,
            self._ready.deposit,
            pictures=options.screenshot,
        )

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid action; what a page or the agent does wrong is an observation.

        Raises:
            SurfaceError: The browser has ended, or the surface is closed.
        """
        driver = await self._live()
        arguments: dict[str, Any] = dict(action.arguments)
        if action.tool == "read_page":
            return await engine().run(self._read_page(driver))
        if action.tool == "screenshot":
            return await self._screenshot(driver, marks=bool(arguments.get("marks", False)))
        if action.tool == "upload":
            try:
                arguments["files"] = await self._files(driver, arguments["files"])
            except GuestFileError as error:
                return _refused(str(error))
        self._state = None
        return self._observation(await engine().run(driver.step(action.tool, arguments)))

    async def observe(self) -> Observation:
        """Return the present view."""
        driver = await self._live()
        state, self._state = self._state, None
        if state is None:
            state = await engine().run(driver.look())
        return self._observation(state)

    async def tree(self) -> PageView:
        """Return the present tree, without a picture."""
        driver = await self._live()
        return await engine().run(driver.session.look())

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
            await engine().run(load_browser(driver, state))
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise SurfaceError(f"load: expected what `save` returned: {error!r}") from None

    async def close(self) -> None:
        """Close the context. Never raises."""
        if self._closed:
            return
        self._closed = True
        driver, self._driver = self._driver, None
        await engine().run(_end(self._pool, self._ready, driver))
        await self._proxy.close()
        self._ready.listening.close()

    # --- tools that do not act ---

    async def _read_page(self, driver: Driver) -> Observation:
        text = await driver.session.readable()
        return Observation(
            bounded(text, most=_PAGE_CHARS), data={"url": driver.session.tab.page.url}
        )

    async def _screenshot(self, driver: Driver, *, marks: bool) -> Observation:
        state = await engine().run(driver.look_with_picture())
        if state.picture is None:
            return _refused(f"no picture can be taken: {state.view.blocked or 'the page is busy'}")
        return Observation(
            f"url: {state.view.url}\ntitle: {state.view.title}",
            image=self._picture(state, marks=marks),
            data={"url": state.view.url, "marks": marks},
        )

    async def _files(self, driver: Driver, given: Sequence[Mapping[str, str]]) -> list[str]:
        """Put the files of an upload where the browser can read them."""
        paths = []
        for number, file in enumerate(given):
            name = PurePosixPath(file["name"]).name or "file"
            if "text" in file:
                data = file["text"].encode()
            elif "path" in file:
                data = await self._context.sandbox.read_file(file["path"], max_bytes=_UPLOAD_BYTES)
            else:
                data = driver.session.downloaded(name)
            paths.append(str(self._ready.deposit(f"{number}", name, data)))
        return paths

    # --- observations ---

    def _observation(self, state: BrowserState) -> Observation:
        view = state.view
        shown = view.lines()
        text, left = bounded_lines(shown, view.cut, self._options.text_bytes)
        lines = [f"url: {view.url}", f"title: {view.title}"]
        if len(state.tabs) > 1:
            lines.append("tabs: " + " | ".join(_tab_line(tab) for tab in state.tabs))
        if state.dialog is not None:
            lines.append(_dialog_line(state.dialog))
        if view.focused is not None:
            lines.append(f"focused: [{view.focused}]")
        lines += [f"downloaded: {_download_line(file)}" for file in state.downloads]
        lines += [f"console: {message}" for message in state.console]
        if state.outcome is not None or state.error:
            lines.append(f"last: {_outcome_line(state)}")
        if view.blocked:
            lines.append(f"(no tree: {view.blocked})")
        elif self._options.diff and self._told[0] == view.documents:
            lines += ["tree, what has changed:", *changed_lines(self._told[1], shown)]
        else:
            lines += ["tree:", text]
        self._told = (view.documents, shown)
        return Observation(
            bounded("\n".join(lines), most=self._options.text_bytes + _REMARKS_BYTES // 2),
            image=self._picture(state, marks=self._options.marks),
            data=self._data(state, left),
            effect=_EFFECTS[state.outcome],
        )

    def _picture(self, state: BrowserState, *, marks: bool) -> Image | None:
        if state.picture is None:
            return None
        picture = pixels(state.picture, self._options.width, self._options.height)
        return with_marks(picture, state.view.nodes) if marks and picture is not None else picture

    def _data(self, state: BrowserState, left: int) -> dict[str, Json]:
        view = state.view
        data: dict[str, Json] = {
            "url": view.url,
            "title": view.title,
            "tabs": state.tabs,
            "focused": view.focused,
            "scroll": list(view.scroll),
            "viewport": [self._options.width, self._options.height],
            "dialog": None if state.dialog is None else dict(state.dialog),
            "downloads": state.downloads,
            "console": list(state.console),
            "effect": state.outcome,
            "error": state.error,
            "truncated": left,
        }
        nodes = view.data()
        while nodes and len(json.dumps(nodes)) > _DATA_BYTES:
            del nodes[len(nodes) // 2 :]
        if len(nodes) < len(view.nodes):
            data["truncated"] = max(left, len(view.nodes) - len(nodes))
        return {**data, "nodes": nodes}


_EFFECTS: Final = {
    None: Effect.NO_CHANGE,
    "no_change": Effect.NO_CHANGE,
    "changed": Effect.CHANGED,
    "navigated": Effect.CHANGED,
    "error": Effect.ERROR,
}


def _refused(message: str) -> Observation:
    return Observation(bounded(f"error: {message}"), data={"error": message}, effect=Effect.ERROR)


def _tab_line(tab: Json) -> str:
    assert isinstance(tab, dict)
    return f"{tab['number']}{'*' if tab['current'] else ''} {tab['title'] or tab['url']}"


def _dialog_line(dialog: Mapping[str, Json]) -> str:
    line = f"dialog: {dialog['type']} {json.dumps(dialog['message'], ensure_ascii=False)}"
    if "default" in dialog:
        line += f" default={json.dumps(dialog['default'], ensure_ascii=False)}"
    return line


def _download_line(file: Json) -> str:
    assert isinstance(file, dict)
    return f"{file['name']} " + (
        f"failed: {file['error']}" if "error" in file else f"({file['bytes']} bytes)"
    )


def _outcome_line(state: BrowserState) -> str:
    if state.outcome in ("error", None):
        return f"error: {state.error}"
    return str(state.outcome) + (f" ({state.error})" if state.error else "")


async def _held_pool() -> BrowserPool:
    pool = browser_pool()
    await pool.hold()
    return pool


async def _end(pool: BrowserPool, ready: ReadyContext, driver: Driver | None) -> None:
    if driver is not None:
        driver.session.stop()
    await pool.discard(ready)


def _read(given: Mapping[str, Json]) -> BrowserOptions:
    unknown = [name for name in given if name not in BrowserOptions.model_fields]
    if unknown:
        known = list(BrowserOptions.model_fields)
        raise ConfigError(str(NotFoundError("option of surface.browser", unknown[0], known)))
    try:
        return BrowserOptions.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in ("surface", "browser", *first["loc"]))
        raise ConfigError(f"{where}: {first['msg']}, got {first['input']!r}") from None
