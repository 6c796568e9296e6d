"""`agentgym regrade`: judges recorded episodes again with the current verifier."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentgym.cli.vouching import TaskOption, vouched_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from agentgym.record.store import EpisodeRow, RunStore
    from agentgym.records import Verdict
    from agentgym.rollout.regrade import Regrading
    from agentgym.rollout.trust import Named


@dataclass(frozen=True, slots=True)
class _Asked:
    """Options of the judgement."""

    named: Named
    jobs: int
    force: bool
    rerun: bool


def regrade(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    episode: Annotated[
        list[int] | None,
        typer.Option("--episode", "-e", help="Id of an episode; repeatable. Default: all."),
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", help="Sandbox provider; by default the recorded one.")
    ] = None,
    task: TaskOption = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Concurrent episodes. Default: the processors."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Include episodes that the current verifier has judged.")
    ] = False,
    rerun: Annotated[
        bool,
        typer.Option("--rerun", help="Execute the actions again and judge the resulting state."),
    ] = False,
) -> None:
    """Judge the stored final states of recorded episodes again; the history keeps old verdicts.

    Exits with 1 if an episode could not be judged again and keeps its verdict.
    """
    from agentgym.cli.console import stdout_console
    from agentgym.cli.grade import chosen
    from agentgym.cli.report import publish
    from agentgym.record.store import RunStore
    from agentgym.rollout.regrade import Fate

    console = stdout_console()
    store = RunStore.open(run, readonly=False)
    try:
        rows = chosen(store, episode)
        named = vouched_for([row for row in rows if row.first is not None], task, sandbox)
        asked = _Asked(named, jobs or os.cpu_count() or 1, force, rerun)
        try:
            done = _regrade(console, store, asked, rows)
        except KeyboardInterrupt:
            publish(store)
            raise typer.Exit(130) from None
        fates = [one.fate for one in done]
        counts = ", ".join(f"{fates.count(fate)} {fate.value}" for fate in Fate)
        console.print(f"\nverdicts: {counts}\n", markup=False, soft_wrap=True)
        # Always: a process that was killed could not do it.
        publish(store)
    finally:
        store.close()
    if Fate.KEPT in fates:
        raise typer.Exit(1)


def _regrade(
    console: Console, store: RunStore, asked: _Asked, rows: Sequence[EpisodeRow]
) -> list[Regrading]:
    import asyncio

    from agentgym import plugins
    from agentgym.protocols import SandboxProvider
    from agentgym.rollout.regrade import regrade_episode

    providers: dict[str, SandboxProvider] = {}

    async def one(row: EpisodeRow, gate: asyncio.Semaphore) -> Regrading:
        async with gate:
            name = asked.named.provider(row.sandbox)
            if name not in providers:
                providers[name] = plugins.make_provider(name)
            done = await regrade_episode(
                *(store, row, providers[name]),
                force=asked.force,
                rerun=asked.rerun,
                named=asked.named,
            )
            _say(console, row, done)
            return done

    async def run() -> list[Regrading]:
        gate = asyncio.Semaphore(asked.jobs)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(row, gate)) for row in rows]
            return [task.result() for task in tasks]
        except ExceptionGroup as failures:
            # Only a failure to record gets here, and it is the same one for all episodes.
            raise failures.exceptions[0] from None
        finally:
            for provider in providers.values():
                await provider.close()

    return asyncio.run(run())


def _say(console: Console, row: EpisodeRow, one: Regrading) -> None:
    from agentgym.eval.printable import clean

    told = f"episode {row.id}  {row.plan.task}  {row.plan.agent}  {one.fate.value}"
    if one.old is not None and one.new is not None:
        told += f"  {_words(one.old)} → {_words(one.new)}"
    style = {"replaced": "green", "kept": "yellow"}.get(one.fate.value, "dim")
    console.print(clean(told), style=style, markup=False, soft_wrap=True)
    if one.reason:
        console.print(f"  {clean(one.reason)}", style="yellow", markup=False, soft_wrap=True)


def _words(verdict: Verdict) -> str:
    by = verdict.verifier or "unknown"
    if not verdict.scored:
        return f"{verdict.status} [{by}]"
    return f"{'passed' if verdict.outcome else 'failed'} {verdict.score:.3f} [{by}]"
