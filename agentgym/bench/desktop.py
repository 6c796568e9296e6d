"""`agentgym bench desktop`: resets, screenshots, steps, trees, and eight desktops at once.

A reset is that of an environment: a computer with an editor open, settled, and its first
observation with picture and tree. A step is a click on a quiet screen with everything that follows.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from agentgym.bench.series import Figure, Figures
from agentgym.env.environment import Environment
from agentgym.env.resolved_task import build_task
from agentgym.errors import SandboxError, SurfaceError
from agentgym.protocols import SandboxProvider, SurfaceContext
from agentgym.records import Action, SurfaceConfig
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.build.builder import Builds
from agentgym.sandbox.pool import PooledProvider
from agentgym.surfaces.desktop import DesktopKind, DesktopSurface
from agentgym.task.load import load_task
from agentgym.task.model import Task
from agentgym.threads import to_thread

_LIVE: Final = 8
_READY_S: Final = 60.0
_RESETS, _STEPS, _TREES, _MANY_RESETS = 12, 40, 10, 200
_QUICK_RESETS, _QUICK_STEPS, _QUICK_TREES, _QUICK_MANY = 5, 15, 5, 10
_TOLD: Final = 20
_ROWS, _COLUMNS = 60, 12
_LEAST_CELLS: Final = 200
_MOST_TREE_MS: Final = 20_000
# Commas between values, quotes around texts, UTF-8: with these, no dialog asks for them.
_CALC: Final = "libreoffice --infilter=CSV:44,34,76 --calc"
_TASK: Final = """\
schema_version = "agentgym.task/1"
id = "bench/{name}-v1"
title = "Measured"
difficulty = "easy"
env = "desktop"
"""
_RUBRIC: Final = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "there"
title = "There is a home"
use = "files.exists"
with = { path = "/home/user" }
"""
_SETUP: Final = """\
mkdir -p /home/user/.config/desktop
cat > /home/user/{file} <<'END'
{text}
END
echo "{command} /home/user/{file}" > /home/user/.config/desktop/session
chown -R user:user /home/user
"""


async def measure_desktop(quick: bool, tell: Callable[[str], None]) -> Figures:
    """Measure desktops of the recipe `desktop`, which is built first if needed.

    Args:
        quick: Whether to do fewer repetitions.
        tell: Is told what is measured now.

    Raises:
        SandboxError: This machine cannot run bubblewrap, or the recipe cannot be built.
        SurfaceError: A desktop does not answer.
    """
    provider = BubblewrapProvider()
    problems = provider.problems()
    if problems:
        raise SandboxError(f"bench: {problems[0].what}; {problems[0].fix}")
    many = _QUICK_MANY if quick else _MANY_RESETS
    figures = Figures(
        Figure("reset_ms.p50", "reset, a desktop ready", "ms", 1_000),
        Figure("cold_ms.p50", "reset, nothing started ahead", "ms", 3_000),
        Figure("screenshot_ms.p50", "screenshot of 1280 x 800", "ms", 40),
        Figure("step_ms.p50", "step: click, settle, tree, screenshot", "ms", 250),
        Figure("tree_ms.p50", "tree of LibreOffice Calc", "ms", 1_000),
        Figure("tree200_ms.p50", f"  the same after {many} resets", "ms", 1_000),
        Figure("live8_mb", f"memory of {_LIVE} desktops with LibreOffice Calc", "MB", 6 * 1024),
    )
    async with AsyncExitStack() as closing:
        closing.push_async_callback(provider.close)
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="agentgym-bench-")))
        tell("building the recipe, if it is not built")
        editor = await to_thread(_task, folder, "editor", "mousepad", "notes.txt", "milk\n" * 20)
        office = await to_thread(_task, folder, "office", _CALC, "numbers.csv", _sheet())
        tell("resets, a desktop ready")
        await _ready_resets(figures["reset_ms.p50"], editor, provider, quick)
        tell("steps")
        await _steps(figures, editor, provider, _QUICK_STEPS if quick else _STEPS)
        trees = _QUICK_TREES if quick else _TREES
        tell("trees of LibreOffice Calc")
        await _trees(figures["tree_ms.p50"], office, provider, trees)
        await _cold_resets(figures["cold_ms.p50"], editor, provider, many, tell)
        tell("trees again")
        await _trees(figures["tree200_ms.p50"], office, provider, trees)
        tell(f"{_LIVE} desktops at once")
        await _live(figures["live8_mb"], office, provider)
    figures.notes.append(
        "The memory is resident: pages that desktops share count for each of them."
    )
    return figures


def _task(folder: Path, name: str, command: str, file: str, text: str) -> Task:
    """Write a task with a document open in an application, load it, and build its recipe."""
    root = folder / "bench" / name
    files = {
        "task.toml": _TASK.format(name=name),
        "instruction.md": "Do nothing.\n",
        "checks/rubric.toml": _RUBRIC,
        "solution/actions.jsonl": '{"tool": "submit", "arguments": {}}\n',
        "setup/setup.sh": _SETUP.format(file=file, text=text, command=command),
    }
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    task = load_task(root)
    with Builds(lambda line: None) as builds:
        build_task(task, builds, lambda line: None)
    return task


def _sheet() -> str:
    """Return a sheet full of numbers, as comma-separated values."""
    columns = range(1, _COLUMNS + 1)
    return "\n".join(
        ",".join(str(row * column) for column in columns) for row in range(1, _ROWS + 1)
    )


async def _ready_resets(figure: Figure, task: Task, provider: SandboxProvider, quick: bool) -> None:
    """Time resets for which the pool has a desktop ready."""
    pool = PooledProvider(provider, size=1, memory_mb=4_000.0, owned=False)
    async with AsyncExitStack() as closing:
        closing.push_async_callback(pool.close)
        environment = await closing.enter_async_context(Environment(task, pool))
        for _ in range(_QUICK_RESETS if quick else _RESETS):
            pool.expect(*await environment.prepare(0))
            async with asyncio.timeout(_READY_S):
                while not pool.statistics().ready:
                    await asyncio.sleep(0.01)
            async with figure.timed():
                episode = await environment.start(0)
            await episode.close()


async def _cold_resets(
    figure: Figure,
    task: Task,
    provider: SandboxProvider,
    count: int,
    tell: Callable[[str], None],
) -> None:
    async with Environment(task, provider) as environment:
        await environment.prepare(0)
        for done in range(count):
            if done % _TOLD == 0:
                tell(f"resets, nothing started ahead: {done} of {count}")
            async with figure.timed():
                episode = await environment.start(0)
            await episode.close()


@asynccontextmanager
async def _desktop(
    task: Task, provider: SandboxProvider, **options: int
) -> AsyncIterator[DesktopSurface]:
    """Open a surface over the desktop of an episode."""
    async with Environment(task, provider) as environment:
        sandbox = await provider.start(*await environment.prepare(0))
        try:
            kind = DesktopKind(SurfaceConfig((), dict(options), True, 1_000))
            surface = await kind.attach(SurfaceContext(sandbox))
            await surface.observe()
            yield surface
            await surface.close()
        finally:
            await sandbox.close()


async def _steps(figures: Figures, task: Task, provider: SandboxProvider, count: int) -> None:
    async with _desktop(task, provider) as surface:
        seen = await surface.observe()
        nodes = seen.data["nodes"]
        assert isinstance(nodes, list)
        fields = [node for node in nodes if node["role"] == "textbox"]
        if not fields:
            raise SurfaceError("bench: the editor shows no text")
        x, y, _, _ = fields[0]["box"]
        for number in range(count):
            await surface.call(Action("type", {"text": "x"}))
            async with figures["screenshot_ms.p50"].timed():
                await surface.call(Action("screenshot", {}))
            place = {"x": x + 8, "y": y + 10 + 18 * (number % 8)}
            async with figures["step_ms.p50"].timed():
                await surface.call(Action("click", place))


async def _trees(figure: Figure, task: Task, provider: SandboxProvider, count: int) -> None:
    async with _desktop(task, provider, screenshot=False, tree_ms=_MOST_TREE_MS) as surface:
        for _ in range(count):
            async with figure.timed():
                seen = await surface.observe()
            nodes = seen.data["nodes"]
            assert isinstance(nodes, list)
            cells = sum(node["role"] == "cell" for node in nodes)
            if seen.data["cut"] or cells < _LEAST_CELLS:
                why = seen.data["cut"] or f"it has {cells} cells"
                raise SurfaceError(f"bench: the tree of the sheet is not whole: {why}")


async def _live(figure: Figure, task: Task, provider: SandboxProvider) -> None:
    async with AsyncExitStack() as closing:
        environment = await closing.enter_async_context(Environment(task, provider))
        live, total = [], 0.0
        for _ in range(_LIVE):
            live.append(await environment.start(0))
            closing.push_async_callback(live[-1].close)
        for episode in live:
            total += (await episode.sandbox.usage()).memory_mb or 0.0
    figure.samples.append(total)
