"""`agentgym replay`: shows a recorded episode, verifies its re-execution, or branches off it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from agentgym.cli.vouching import TaskOption, vouched_for
from agentgym.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from agentgym.protocols import SandboxProvider
    from agentgym.record.store import EpisodeRow, RunStore
    from agentgym.records import Step
    from agentgym.rollout.replay import Divergence
    from agentgym.rollout.trust import Named

T = TypeVar("T")

_TEXTS_SHOWN = 3


def replay(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    episode: Annotated[
        int | None, typer.Argument(metavar="EPISODE", help="Id of an episode. Default: list all.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Execute it again and report the first divergence.")
    ] = False,
    branch: Annotated[
        int | None,
        typer.Option("--branch", metavar="K", min=0, help="Keep K steps, then let --agent go on."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Agent of a branch: oracle, openai:MODEL, …")
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", help="Sandbox provider; by default the recorded one.")
    ] = None,
    task: TaskOption = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0.1, help="Seconds for --agent. Default: the task's."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Fold nothing.")] = False,
) -> None:
    """Show a recorded episode step by step, verify it, or branch off it.

    --verify exits with 1 if the state differs from the record, or if that cannot be decided; with
    0 if everything agrees, and also if only text differs: then the text is shown.
    """
    from agentgym.cli.console import stdout_console
    from agentgym.cli.transcript import episode_table
    from agentgym.record.store import RunStore

    if episode is None and (verify or branch is not None):
        raise ConfigError("--verify and --branch need an EPISODE; RUN alone lists them")
    if verify and branch is not None:
        raise ConfigError("--verify and --branch exclude each other; choose one")
    if (branch is None) != (agent is None):
        raise ConfigError("a branch needs both --branch K and --agent A")
    if timeout is not None and branch is None:
        raise ConfigError("--timeout is for the agent of a branch; add --branch K --agent A")
    console = stdout_console()
    store = RunStore.open(run, readonly=branch is None)
    try:
        if episode is None:
            console.print(episode_table(store.episodes()))
            return
        row = store.episode(episode)
        if verify:
            named = vouched_for([row], task, sandbox)
            _verify(console, store, row, named)
        elif branch is not None and agent is not None:
            named = vouched_for([row], task, sandbox)
            go = _Branch(store, row, branch, agent, timeout, named)
            _branch(console, go, full)
        else:
            _show(console, store, row, full)
    finally:
        store.close()


def _show(console: Console, store: RunStore, row: EpisodeRow, full: bool) -> None:
    """Print an episode with its later grades and verdicts."""
    from agentgym.cli.opinions import print_grades, print_past_verdicts, remarks
    from agentgym.cli.transcript import print_episode
    from agentgym.eval.printable import clean

    told = remarks(store.history.newest_gradings(row.id))

    def after_step(index: int) -> None:
        print_grades(console, told.get(index, []))

    print_episode(console, row, store.steps(row.id), full=full, after_step=after_step)
    print_past_verdicts(console, store.history.past_verdicts(row.id))
    ending = store.endings.find(row.id)
    if ending is not None and ending.ended_s is not None:
        kept = f"kept ({ending.state_bytes / 1000:.0f} kB)" if ending.state else "not kept"
        why = f": {clean(ending.unkept)}" if ending.unkept else ""
        console.print(f"\nfinal state: {kept}{why}", style="dim", markup=False, soft_wrap=True)


def _verify(console: Console, store: RunStore, row: EpisodeRow, named: Named) -> None:
    from agentgym.eval.printable import clean
    from agentgym.rollout.replay import verify_episode

    sandbox = named.provider(row.sandbox)
    found = _with_provider(sandbox, lambda p: verify_episode(store, row.id, p, named=named))
    if found.divergence is not None and found.first is not None:
        told = f"episode {row.id} diverged at {clean(str(found.first))}"
        console.print(told, style="red", markup=False, soft_wrap=True)
        _show_diff(console, found.first)
        if found.first != found.divergence:
            console.print(f"  {clean(str(found.divergence))}", markup=False, soft_wrap=True)
        raise typer.Exit(1)
    judged = ", so do the state and the score" if row.verdict and row.verdict.scored else ""
    told = f"episode {row.id}: {row.steps} steps executed again, "
    if found.texts or found.files:
        told += f"the text of {len(found.texts)} differs, the state and the score agree"
        console.print(told, style="yellow", markup=False, soft_wrap=True)
        _show_texts(console, found.texts)
        if found.files:
            files = clean(", ".join(found.files[:5])) + ("…" if len(found.files) > 5 else "")
            told = f"  files that differ in volatile text only: {files}"
            console.print(told, markup=False, soft_wrap=True)
        return
    told += f"all observations agree{judged}"
    console.print(told, style="green", markup=False, soft_wrap=True)


def _show_texts(console: Console, texts: Sequence[Divergence]) -> None:
    from agentgym.eval.printable import clean

    for text in texts[:_TEXTS_SHOWN]:
        told = f"  {clean(str(text))}" if not text.diff else f"  step {text.step}: {text.field}"
        console.print(told, markup=False, soft_wrap=True)
        _show_diff(console, text)
    if len(texts) > _TEXTS_SHOWN:
        console.print(f"  and {len(texts) - _TEXTS_SHOWN} more steps", markup=False)


def _show_diff(console: Console, divergence: Divergence) -> None:
    from agentgym.eval.printable import clean

    for line in divergence.diff:
        console.print(f"    {clean(line)}", style="dim", markup=False, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class _Branch:
    """Options of a branch."""

    store: RunStore
    row: EpisodeRow
    k: int
    agent: str
    timeout_s: float | None
    named: Named


def _branch(console: Console, asked: _Branch, full: bool) -> None:
    from agentgym.cli.transcript import print_step, print_verdict
    from agentgym.eval.printable import clean
    from agentgym.rollout.replay import branch_episode

    def on_step(step: Step) -> None:
        print_step(console, step, full=full)

    store, origin = asked.store, asked.row.id
    new = _with_provider(
        asked.named.provider(asked.row.sandbox),
        lambda provider: branch_episode(
            *(store, origin, asked.k, asked.agent, provider),
            timeout_s=asked.timeout_s,
            on_step=on_step,
            named=asked.named,
        ),
    )
    branch = store.episode(new)
    print_verdict(console, branch, full=full)
    for line in branch.log.splitlines():
        console.print(clean(line), style="yellow", markup=False, soft_wrap=True)
    told = f"\nepisode {new}, branched off {origin} at step {asked.k}:"
    console.print(f"{told}  agentgym replay {store.folder} {new}", markup=False, soft_wrap=True)


def _with_provider(name: str, work: Callable[[SandboxProvider], Awaitable[T]]) -> T:
    from agentgym import plugins

    async def run() -> T:
        provider: SandboxProvider = plugins.load("agentgym.sandboxes", name)()
        try:
            return await work(provider)
        finally:
            await provider.close()

    return asyncio.run(run())
