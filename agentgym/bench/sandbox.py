"""`agentgym bench sandbox`: resets, commands, snapshots and forks, compared with Docker."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path

from rich.console import Console

from agentgym.bench.docker_baseline import DockerPeer
from agentgym.bench.engine import measure_engine
from agentgym.bench.processor import family_mb
from agentgym.bench.ready import ReadyResets
from agentgym.bench.series import Figure, Figures
from agentgym.errors import SandboxError
from agentgym.records import Recipe, Snapshot
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.sandbox.guest import BubblewrapSandbox
from agentgym.sandbox.recipe import load_recipe

_LIVE, _MORE = 200, 500


def _figures() -> Figures:
    return Figures(
        Figure("bubblewrap.reset_ms.p50", "reset of a prepared task", "ms", 15),
        Figure("bubblewrap.pool_reset_ms.p50", "reset from the pool, shell open", "ms", 8),
        Figure("docker.reset_ms.p50", "docker run", "ms"),
        Figure("ratio.reset", "docker run / reset", "x", 15, at_least=True),
        Figure("ratio.pool_reset", "docker run / reset from the pool", "x", 30, at_least=True),
        Figure("bubblewrap.exec_ms.p50", "command (exec)", "ms", 2),
        Figure("docker.exec_ms.p50", "docker exec", "ms"),
        Figure("ratio.exec", "docker exec / command", "x", 25, at_least=True),
        Figure("bubblewrap.shell_ms.p50", "command in a shell session", "ms", 4),
        Figure("bubblewrap.snapshot_ms.p50", "live snapshot, 10 files changed", "ms"),
        Figure("bubblewrap.snapshot_1gb_ms.p50", "live snapshot, the same over 1 GB", "ms"),
        Figure("bubblewrap.fork_ms.p50", "fork over 1 MB, first command done", "ms", 20),
        Figure("bubblewrap.fork_1gb_ms.p50", "fork over 1 GB, first command done", "ms", 20),
        Figure("bubblewrap.fork_60_layers_ms.p50", "fork over 60 layers", "ms", 20),
        Figure("bubblewrap.live200_mb", f"{_LIVE} live sandboxes, all answering", "MB", 2048),
        Figure("bubblewrap.live500_mb", f"{_MORE} live sandboxes, all answering", "MB", 5120),
        Figure("docker.own_reset_ms.p50", "our Docker provider: reset", "ms"),
        Figure("docker.pool_reset_ms.p50", "the same from the pool, shell open", "ms", 60),
        Figure("docker.own_exec_ms.p50", "the same: command (exec)", "ms", 4),
        Figure("engine.step_ms.p50", "engine time of a step", "ms", 0.3),
        Figure("engine.episode_ms.p50", "engine time of a trivial episode", "ms", 5),
        Figure("recorder.step_share", "recording, share of a step", "%", 5),
    )


async def measure_sandbox(quick: bool) -> Figures:
    """Measure the embedded sandbox and the engine around it.

    Args:
        quick: Whether to do a tenth of the repetitions.

    Raises:
        SandboxError: Bubblewrap cannot run here.
    """
    provider = BubblewrapProvider()
    problems = provider.problems()
    if problems:
        raise SandboxError(f"bench: {problems[0].what}; {problems[0].fix}")
    figures, console = _figures(), Console(stderr=True)
    rounds = 5 if quick else 40
    with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as folder:
        try:
            recipe = load_recipe("host")
            console.print("[dim]resets and commands, in turn with Docker …[/dim]")
            await _beside_docker(figures, provider, recipe, rounds, Path(folder, "ready"))
            console.print("[dim]snapshots and forks …[/dim]")
            await _forks(figures, provider, recipe, rounds)
            console.print(f"[dim]{_LIVE if quick else _MORE} live sandboxes …[/dim]")
            await _live(figures, provider, recipe, _LIVE if quick else _MORE)
            if DockerPeer.missing() == "":
                console.print("[dim]our Docker provider …[/dim]")
                await _own_docker(figures, recipe, rounds, Path(folder, "docker"))
            console.print("[dim]engine and recorder …[/dim]")
            await measure_engine(figures, provider, Path(folder), rounds * 10)
        finally:
            await provider.close()
    if quick:
        figures.notes.append(f"{_MORE} live sandboxes were not measured: --quick")
    figures.ratio("ratio.reset", "docker.reset_ms.p50", "bubblewrap.reset_ms.p50")
    figures.ratio("ratio.pool_reset", "docker.reset_ms.p50", "bubblewrap.pool_reset_ms.p50")
    figures.ratio("ratio.exec", "docker.exec_ms.p50", "bubblewrap.exec_ms.p50")
    return figures


async def _with_files(
    provider: BubblewrapProvider, recipe: Recipe, script: str, base: Snapshot | None = None
) -> Snapshot:
    """Return the sealed snapshot after a script."""
    box = await provider.start(recipe, base)
    done = await box.exec(["/bin/sh", "-ec", script], timeout_s=300)
    if done.exit_code:
        raise SandboxError(f"bench: {script!r} failed: {done.stderr.decode(errors='replace')}")
    return await box.seal()


async def _beside_docker(
    figures: Figures, provider: BubblewrapProvider, recipe: Recipe, rounds: int, folder: Path
) -> None:
    prepared = await _with_files(provider, recipe, "echo set up > /srv/state")
    ready = ReadyResets(BubblewrapProvider(), folder)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(ready.close)
        docker = None
        if reason := DockerPeer.missing():
            figures.notes.append(f"Docker was not measured: {reason}")
        else:
            docker = await stack.enter_async_context(DockerPeer())
        for _ in range(rounds):
            await _ours(figures, provider, recipe, prepared)
            await ready.measure(figures["bubblewrap.pool_reset_ms.p50"])
            if docker is not None:
                await _docker_run(figures, docker)


async def _docker_run(figures: Figures, docker: DockerPeer) -> None:
    async with figures["docker.reset_ms.p50"].timed():
        container = await docker.run()
    for _ in range(3):
        async with figures["docker.exec_ms.p50"].timed():
            await docker.exec(container)
    await docker.remove(container)


async def _own_docker(figures: Figures, recipe: Recipe, rounds: int, folder: Path) -> None:
    """Measure agentgym's Docker provider, which needs more than a daemon that answers."""
    provider = DockerProvider()
    if problems := provider.problems():
        figures.notes.append(f"our Docker provider was not measured: {problems[0].what}")
        return
    ready = ReadyResets(provider, folder)
    try:
        for _ in range(rounds):
            await ready.measure(figures["docker.pool_reset_ms.p50"])
            async with figures["docker.own_reset_ms.p50"].timed():
                box = await provider.start(recipe)
            for _ in range(5):
                async with figures["docker.own_exec_ms.p50"].timed():
                    await box.exec(["true"])
            await box.close()
    finally:
        await ready.close()


async def _ours(
    figures: Figures, provider: BubblewrapProvider, recipe: Recipe, prepared: Snapshot
) -> None:
    async with figures["bubblewrap.reset_ms.p50"].timed():
        box = await provider.start(recipe, prepared)
    shell = await box.open_shell()
    await shell.run("true")
    for _ in range(10):
        async with figures["bubblewrap.exec_ms.p50"].timed():
            await box.exec(["true"])
        async with figures["bubblewrap.shell_ms.p50"].timed():
            await shell.run("/bin/true")
    await box.close()


async def _forks(
    figures: Figures, provider: BubblewrapProvider, recipe: Recipe, rounds: int
) -> None:
    small = await _with_files(provider, recipe, "head -c 1000000 /dev/urandom > /srv/data")
    large = await _with_files(
        provider, recipe, "for i in 1 2 3 4 5 6 7 8 9 10; do head -c 100M /dev/zero > /srv/$i; done"
    )
    deep = small
    for index in range(58):
        deep = await _with_files(provider, recipe, f"echo {index} > /srv/{index}", deep)
    cases = (
        ("bubblewrap.fork_ms.p50", small),
        ("bubblewrap.fork_1gb_ms.p50", large),
        ("bubblewrap.fork_60_layers_ms.p50", deep),
    )
    boxes = {key: await provider.start(recipe, base) for key, base in cases}
    for _ in range(rounds):
        for key, box in boxes.items():
            async with figures[key].timed():
                fork = await box.fork()
                await fork.exec(["true"])
            await fork.close()
    for key, name in (("fork_ms", "snapshot_ms"), ("fork_1gb_ms", "snapshot_1gb_ms")):
        box = boxes[f"bubblewrap.{key}.p50"]
        await box.exec(["/bin/sh", "-c", "for i in $(seq 10); do echo $i > /root/$i; done"])
        for _ in range(rounds):
            async with figures[f"bubblewrap.{name}.p50"].timed():
                snapshot = await box.snapshot()
            await provider.discard(snapshot)
    for box in boxes.values():
        await box.close()


async def _live(figures: Figures, provider: BubblewrapProvider, recipe: Recipe, most: int) -> None:
    boxes: list[BubblewrapSandbox] = []
    for count in range(10, most + 1, 10):
        boxes += await asyncio.gather(*(provider.start(recipe) for _ in range(10)))
        if count in (_LIVE, _MORE):
            await _all_answer(boxes)
            used_mb = family_mb(box.host_pid for box in boxes)
            figures[f"bubblewrap.live{count}_mb"].samples.append(used_mb)
    await asyncio.gather(*(box.close() for box in boxes))


async def _all_answer(boxes: list[BubblewrapSandbox]) -> None:
    answers = await asyncio.gather(*(box.exec(["echo", box.id]) for box in boxes))
    answering = sum(a.stdout.decode().strip() == b.id for a, b in zip(answers, boxes, strict=True))
    if answering != len(boxes):
        raise SandboxError(f"bench: {answering} of {len(boxes)} live sandboxes answered")
