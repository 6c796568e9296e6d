"""Measures the browser surface: resets, steps, trees, forks, sixteen contexts, memory.

The page is one of MiniWoB++ if the package `miniwob` is installed, else a small form like it. A
step is a click with everything that follows: settling, the tree and the screenshot. BrowserGym
plays the same page in the same run where it is installed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import mimetypes
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from agentgym.bench.browsergym_baseline import measure_peer
from agentgym.bench.playwright_baseline import measure_contexts
from agentgym.bench.series import Figure, Figures
from agentgym.browser.engine import engine
from agentgym.browser.pool import BrowserPool, browser_pool
from agentgym.errors import AgentGymError
from agentgym.protocols import ASGIMessage, Sites, SurfaceContext
from agentgym.records import Action, Json, Observation, SurfaceConfig
from agentgym.sandbox.absent import NoSandbox
from agentgym.services import find_services
from agentgym.services.backend import Backend
from agentgym.sites.hosts import open_sites
from agentgym.sites.load import find_sites
from agentgym.surfaces.browser import BrowserKind, BrowserSurface

_HOST: Final = "bench.example"
_FORM_PATH: Final = "/form"
_CONTEXTS: Final = 16
_WIDTH, _HEIGHT = 500, 320
_RUN_S, _QUICK_RUN_S = 10.0, 2.0
_RESETS, _STEPS, _QUICK, _PEER = 30, 100, 5, 15
_PAGE: Final = "miniwob/click-checkboxes.html"
_SERVICES: Final = "web"
_READY_S: Final = 10.0
_ENDED_S: Final = 0.1
_START: Final = "typeof core === 'object' && (Math.seedrandom('7'), core.startEpisodeReal())"
_FORM: Final = (
    "<!doctype html><title>Form</title><div id=query>Select <b>a</b> and click Submit.</div>"
    + "".join(f"<label><input type=checkbox>{name}</label><br>" for name in "abcdefgh")
    + "<button>Submit</button>"
)


class StaticPages:
    """An ASGI application over the files of a folder, or one page if there is no folder."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    async def __call__(
        self,
        scope: ASGIMessage,
        receive: Callable[[], Awaitable[ASGIMessage]],
        send: Callable[[ASGIMessage], Awaitable[None]],
    ) -> None:
        """Answer one request."""
        del receive
        data, kind, status = _FORM.encode(), "text/html", 200
        if self._folder is not None and scope["path"] != _FORM_PATH:
            path = (self._folder / str(scope["path"]).lstrip("/")).resolve()
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            found = path.is_relative_to(self._folder) and path.is_file()
            data, status = (path.read_bytes(), 200) if found else (b"", 404)
        headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(data))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})


def miniwob_pages() -> Path | None:
    """Return the folder of MiniWoB's pages; None if the package is not installed."""
    found = importlib.util.find_spec("miniwob")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0], "html").resolve()
    return folder if folder.is_dir() else None


def _figures() -> Figures:
    """Return what is measured, with the targets."""
    return Figures(
        Figure("reset_ms.p50", "reset, a context ready", "ms", 60),
        Figure("reset_cold_ms.p50", "reset, nothing made ahead", "ms", 130),
        Figure("playwright.reset_ms.p50", "  the same with Playwright alone", "ms"),
        Figure("step_ms.p50", "step: click, settle, tree, screenshot", "ms", 100),
        Figure("tree_ms.p50", "  the tree alone", "ms"),
        Figure("form_reset_ms.p50", "reset of a form, a context ready", "ms", 60),
        Figure("form_reset_cold_ms.p50", "reset of a form, nothing made ahead", "ms", 130),
        Figure("fork_ms.p50", "fork of a form: save, context, load", "ms"),
        Figure("fork_beyond_ms", "  beyond the reset of a form", "ms"),
        Figure("site_reset_ms.p50", "sites and services of an episode, anew", "ms", 10),
        Figure("site_fork_ms.p50", "sites and services of an episode, forked", "ms", 10),
        Figure("contexts16.steps_per_s", "16 contexts at once", "steps/s"),
        Figure("memory_per_context_mb", "memory of one more context", "MB"),
        Figure("browsergym.reset_ms.p50", "BrowserGym: reset", "ms"),
        Figure("browsergym.step_ms.p50", "BrowserGym: step", "ms"),
        Figure("browsergym.step_nowait_ms.p50", "BrowserGym: step, its waits set to 0", "ms"),
        Figure("ratio.reset", "times faster: reset", "x", 25, at_least=True),
        Figure("ratio.step", "times faster: step", "x", 8, at_least=True),
        Figure("ratio.step_nowait", "times faster: step without waits", "x", 2, at_least=True),
    )


async def measure_web(quick: bool, tell: Callable[[str], None]) -> Figures:
    """Return the figures of the browser surface on this machine.

    Args:
        quick: Whether to do fewer repetitions.
        tell: Is told what is measured now.

    Raises:
        ConfigError: There is no browser.
        SurfaceError: The browser does not start.
    """
    figures = _figures()
    pages = miniwob_pages()
    path = _PAGE if pages else ""
    figures.notes.append(
        "page: MiniWoB++ click-checkboxes" if pages else "page: a form; miniwob is not installed"
    )
    options: dict[str, Json] = {"width": _WIDTH, "height": _HEIGHT, "init": _START, "ahead": True}
    kind = BrowserKind(SurfaceConfig((), options, False, 1_000))
    sites = Sites(StaticPages(pages), frozenset((_HOST,)), f"http://{_HOST}/{path}", "bench")
    context = SurfaceContext(NoSandbox(), sites=sites)
    await kind.open()
    pool = await engine().run(_pool())
    try:
        await (await kind.attach(context)).close()  # starts the browser
        resets, steps = (_QUICK, 2 * _QUICK) if quick else (_RESETS, _STEPS)
        tell("resets")
        await _resets(figures, kind, context, pool, resets)
        figures["playwright.reset_ms.p50"].samples = await engine().run(
            measure_contexts(sites, _WIDTH, _HEIGHT, resets)
        )
        tell("steps")
        await _steps(figures, kind, context, steps)
        tell("forks")
        await _forks(figures, sites, pool, resets)
        tell(f"{_CONTEXTS} contexts at once")
        await _many(figures, kind, context, pool, _QUICK_RUN_S if quick else _RUN_S)
    finally:
        await kind.close()
        await engine().run(pool.close())
    tell("sites")
    await asyncio.to_thread(_sites, figures, resets)
    if pages is not None:
        tell("BrowserGym on the same page")
        await _beside(figures, pages / _PAGE, quick)
    return figures


async def _beside(figures: Figures, page: Path, quick: bool) -> None:
    """Measure BrowserGym on the same page."""
    count = _QUICK if quick else _PEER
    for waits, step in ((True, "step"), (False, "step_nowait")):
        found = await measure_peer(page, count, count, waits=waits)
        if isinstance(found, str):
            figures.notes.append(found)
            return
        figures[f"browsergym.{step}_ms.p50"].samples = found.step_ms
        if waits:
            figures["browsergym.reset_ms.p50"].samples = found.reset_ms
            figures.notes.append(f"browsergym-core {found.version}, with the same browser")
    figures.ratio("ratio.reset", "browsergym.reset_ms.p50", "reset_ms.p50")
    for step in ("step", "step_nowait"):
        figures.ratio(f"ratio.{step}", f"browsergym.{step}_ms.p50", "step_ms.p50")


def _sites(figures: Figures, count: int) -> None:
    """Measure what the sites and services of an episode cost, without a browser."""
    try:
        services, sites = find_services(_SERVICES), find_sites((f"{_SERVICES}/*",))
    except AgentGymError as error:
        figures.notes.append(f"sites are not measured: {error}")
        return
    start = services.template(1)
    for number in range(count + 1):
        began = time.perf_counter()
        backend = Backend(services, start)
        open_sites(sites, services=backend, reader=backend, seed=f"bench:{number}")
        reset = time.perf_counter()
        fork = backend.fork()
        open_sites(sites, services=fork, reader=fork, seed=f"bench:{number}")
        forked = time.perf_counter()
        figures["site_reset_ms.p50"].samples.append(1e3 * (reset - began))
        figures["site_fork_ms.p50"].samples.append(1e3 * (forked - reset))
        fork.close()
        backend.close()
    for key in ("site_reset_ms.p50", "site_fork_ms.p50"):
        del figures[key].samples[0]


async def _pool() -> BrowserPool:
    return browser_pool()


async def _resets(
    figures: Figures, kind: BrowserKind, context: SurfaceContext, pool: BrowserPool, count: int
) -> None:
    for spares, key in ((0, "reset_cold_ms.p50"), (1, "reset_ms.p50")):
        pool.spares = spares
        await engine().run(pool.drop_spares())
        for _ in range(count + 1):
            await _spare_ready(pool)
            began = time.perf_counter()
            surface = await kind.attach(context)
            await surface.observe()
            figures[key].samples.append(1e3 * (time.perf_counter() - began))
            await _spare_ready(pool)
            await surface.close()
        del figures[key].samples[0]
    pool.spares = 1


async def _spare_ready(pool: BrowserPool) -> None:
    """Wait until the pool makes nothing any more, and the browser has ended what was closed.

    Otherwise they share the processors with what is measured.
    """
    await asyncio.sleep(_ENDED_S)
    until = time.monotonic() + _READY_S
    while pool.busy and time.monotonic() < until:
        await asyncio.sleep(0.01)


async def _steps(figures: Figures, kind: BrowserKind, context: SurfaceContext, count: int) -> None:
    surface = await kind.attach(context)
    seen = await surface.observe()
    await _click(surface, seen, 0)
    for number in range(count):
        async with figures["step_ms.p50"].timed():
            seen = await _click(surface, seen, number)
        async with figures["tree_ms.p50"].timed():
            await surface.tree()
    await surface.close()


async def _forks(figures: Figures, sites: Sites, pool: BrowserPool, count: int) -> None:
    """Measure resets to a form, and forks of it: its page comes back as it was."""
    start = f"http://{_HOST}{_FORM_PATH}"
    options: dict[str, Json] = {"width": _WIDTH, "height": _HEIGHT, "start": start}
    kind = BrowserKind(SurfaceConfig((), options, False, 1_000))
    context = SurfaceContext(NoSandbox(), sites=sites)
    await kind.open()
    surface = await kind.attach(context)
    await _click(surface, await surface.observe(), 0)
    for spares, key in ((0, "form_reset_cold_ms.p50"), (1, "form_reset_ms.p50")):
        pool.spares = spares
        await engine().run(pool.drop_spares())
        for _ in range(count + 1):
            await _spare_ready(pool)
            async with figures[key].timed():
                again = await kind.attach(context)
                await again.observe()
            await again.close()
        del figures[key].samples[0]
    for _ in range(count):
        await _spare_ready(pool)
        async with figures["fork_ms.p50"].timed():
            state = await surface.save()
            fork = await kind.attach(context)
            await fork.load(state)
        await fork.close()
    taken = [figures[key].value or 0.0 for key in ("fork_ms.p50", "form_reset_ms.p50")]
    figures["fork_beyond_ms"].samples = [taken[0] - taken[1]]
    await surface.close()
    await kind.close()


async def _click(surface: BrowserSurface, seen: Observation, number: int) -> Observation:
    nodes = seen.data["nodes"]
    assert isinstance(nodes, list)
    boxes = [node["ref"] for node in nodes if node["role"] == "checkbox"]
    return await surface.call(Action("click", {"ref": boxes[number % len(boxes)]}))


async def _many(
    figures: Figures,
    kind: BrowserKind,
    context: SurfaceContext,
    pool: BrowserPool,
    run_s: float,
) -> None:
    pool.spares = 0
    await engine().run(pool.drop_spares())
    before = await asyncio.to_thread(pool.memory_mb)
    surfaces = [await kind.attach(context) for _ in range(_CONTEXTS)]
    first = [await surface.observe() for surface in surfaces]
    until, done = time.monotonic() + run_s, 0

    async def play(surface: BrowserSurface, seen: Observation) -> None:
        nonlocal done
        number = 0
        while time.monotonic() < until:
            seen = await _click(surface, seen, number)
            number, done = number + 1, done + 1

    began = time.monotonic()
    await asyncio.gather(*map(play, surfaces, first))
    figures["contexts16.steps_per_s"].samples.append(done / (time.monotonic() - began))
    used = await asyncio.to_thread(pool.memory_mb) - before
    figures["memory_per_context_mb"].samples.append(used / _CONTEXTS)
    await asyncio.gather(*(surface.close() for surface in surfaces))
    pool.spares = 1
