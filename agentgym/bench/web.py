"""Measures the browser surface: resets, steps, trees, forks, sixteen contexts, memory.

The page is one of MiniWoB++ if the package `miniwob` is installed, else a small form like it. A
step is a click with everything that follows: settling, the tree and the screenshot.
"""

from __future__ import annotations

import asyncio
import importlib.util
import mimetypes
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from agentgym.bench.series import Figure, Figures
from agentgym.browser.engine import engine
from agentgym.browser.pool import BrowserPool, browser_pool
from agentgym.protocols import ASGIMessage, Sites, SurfaceContext
from agentgym.records import Action, Json, Observation, SurfaceConfig
from agentgym.sandbox.absent import NoSandbox
from agentgym.surfaces.browser import BrowserKind, BrowserSurface

_HOST: Final = "bench.example"
_FORM_PATH: Final = "/form"
_CONTEXTS: Final = 16
_RUN_S, _QUICK_RUN_S = 10.0, 2.0
_RESETS, _STEPS, _QUICK = 30, 100, 5
_READY_S: Final = 10.0
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


async def measure_web(quick: bool) -> Figures:
    """Return the figures of the browser surface on this machine.

    Args:
        quick: Whether to do fewer repetitions.

    Raises:
        ConfigError: There is no browser.
        SurfaceError: The browser does not start.
    """
    figures = Figures(
        Figure("reset_ms.p50", "reset, a context ready", "ms", 60),
        Figure("reset_cold_ms.p50", "reset, nothing made ahead", "ms", 130),
        Figure("step_ms.p50", "step: click, settle, tree, screenshot", "ms", 100),
        Figure("tree_ms.p50", "  the tree alone", "ms"),
        Figure("fork_ms.p50", "fork of a form: save, context, load", "ms"),
        Figure("contexts16.steps_per_s", "16 contexts at once", "steps/s"),
        Figure("memory_per_context_mb", "memory of one more context", "MB"),
    )
    pages = miniwob_pages()
    path = "miniwob/click-checkboxes.html" if pages else ""
    figures.notes.append(
        "page: MiniWoB++ click-checkboxes" if pages else "page: a form; miniwob is not installed"
    )
    options: dict[str, Json] = {"width": 500, "height": 320, "init": _START}
    kind = BrowserKind(SurfaceConfig((), options, False, 1_000))
    sites = Sites(StaticPages(pages), frozenset((_HOST,)), f"http://{_HOST}/{path}")
    context = SurfaceContext(NoSandbox(), sites=sites)
    await kind.open()
    pool = await engine().run(_pool())
    try:
        await (await kind.attach(context)).close()  # starts the browser
        resets, steps = (_QUICK, 2 * _QUICK) if quick else (_RESETS, _STEPS)
        await _resets(figures, kind, context, pool, resets)
        await _steps(figures, kind, context, steps, resets)
        await _many(figures, kind, context, pool, _QUICK_RUN_S if quick else _RUN_S)
    finally:
        await kind.close()
        await engine().run(pool.close())
    return figures


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
    """Wait until the pool makes nothing any more, so that it does not share the processors."""
    until = time.monotonic() + _READY_S
    while pool.busy and time.monotonic() < until:
        await asyncio.sleep(0.01)


async def _steps(
    figures: Figures, kind: BrowserKind, context: SurfaceContext, count: int, forks: int
) -> None:
    surface = await kind.attach(context)
    seen = await surface.observe()
    await _click(surface, seen, 0)
    for number in range(count):
        async with figures["step_ms.p50"].timed():
            seen = await _click(surface, seen, number)
        async with figures["tree_ms.p50"].timed():
            await surface.tree()
    # Pages of MiniWoB count the seconds, so none comes back as it was.
    await surface.call(Action("goto", {"url": _FORM_PATH}))
    for _ in range(forks):
        async with figures["fork_ms.p50"].timed():
            state = await surface.save()
            fork = await kind.attach(context)
            await fork.load(state)
        await fork.close()
    await surface.close()


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
    first = await asyncio.gather(*(surface.observe() for surface in surfaces))
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
