"""`agentgym replay`: shows a recorded episode, verifies its re-execution, or branches off it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
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
        list[str] | None,
        typer.Option(
            "--agent", "-a", help="Agent of a branch: oracle, openai:MODEL, …; repeatable."
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option("--trials", "-k", min=1, help="Branches of every agent. Default: 1."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Concurrent branches. Default: 1."),
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", help="Sandbox provider; by default the recorded one.")
    ] = None,
    task: TaskOption = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0.1, help="Seconds for --agent. Default: the task's."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Show long texts in full.")] = False,
    har: Annotated[
        Path | None,
        typer.Option(
            "--har", metavar="FILE", help="Write the browser's requests as a HAR.", dir_okay=False
        ),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            "--pictures", metavar="FOLDER", help="Write what was seen as PNGs.", file_okay=False
        ),
    ] = None,
) -> None:
    """Show a recorded episode step by step, verify it, or branch off it.

    Several branches begin in forks of one re-execution of the kept steps, if that can be forked.

    --verify exits with 1 if the state differs from the record, or if that cannot be decided; with
    0 if everything agrees, and also if only text differs: then the text is shown.
    """
    from agentgym.cli.console import stdout_console
    from agentgym.cli.transcript import episode_table
    from agentgym.record.store import RunStore

    branching = branch is not None
    _check_what(episode is not None, verify, branching, har is not None, pictures is not None)
    if branching != bool(agent):
        raise ConfigError("a branch needs both --branch K and --agent A")
    for option, given in (("--timeout", timeout), ("--trials", trials), ("--jobs", jobs)):
        if given is not None and not branching:
            raise ConfigError(f"{option} is for the agent of a branch; add --branch K --agent A")
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
        elif branch is not None and agent:
            named = vouched_for([row], task, sandbox)
            agents = tuple(agent) * (trials or 1)
            go = _Branch(store, row, branch, agents, jobs or 1, timeout, named)
            _branch(console, go, full)
        elif har is not None:
            _write_har(row, har)
        elif pictures is not None:
            written = _write_pictures(row, store.steps(row.id), pictures)
            console.print(f"{written} pictures in {pictures}", markup=False, soft_wrap=True)
        else:
            _show(console, store, row, full)
    finally:
        store.close()


def _check_what(episode: bool, verify: bool, branch: bool, har: bool, pictures: bool) -> None:
    """Refuse options of which each says another thing to do with an episode.

    Raises:
        ConfigError: Two exclude each other, or one needs an episode.
    """
    if not episode and (verify or branch):
        raise ConfigError("--verify and --branch need an EPISODE; RUN alone lists them")
    if har and (not episode or verify or branch):
        raise ConfigError("--har needs an EPISODE, and neither --verify nor --branch")
    if pictures and (not episode or verify or branch or har):
        raise ConfigError("--pictures needs an EPISODE, and none of --verify, --branch and --har")
    if verify and branch:
        raise ConfigError("--verify and --branch exclude each other; choose one")


def _write_har(row: EpisodeRow, file: Path) -> None:
    """Write the requests of an episode's browser."""
    from agentgym.browser.har import to_har

    requests = () if row.audit is None else row.audit.requests
    if not requests:
        raise ConfigError(f"episode {row.id} has no requests of a browser")
    file.write_text(json.dumps(to_har(requests), indent=1) + "\n")


def _write_pictures(row: EpisodeRow, steps: Iterable[Step], folder: Path) -> int:
    """Write the pictures of an episode's observations, named by step; return how many."""
    from PIL import Image

    seen = [("first", row.first), *((f"{s.index:03}", s.observation) for s in steps)]
    shown = [(name, one.image) for name, one in seen if one is not None and one.image is not None]
    if not shown:
        raise ConfigError(f"episode {row.id} has no pictures")
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in shown:
        Image.fromarray(picture).save(folder / f"{name}.png")
    return len(shown)


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
    """Options of a branch, or of several."""

    store: RunStore
    row: EpisodeRow
    k: int
    agents: tuple[str, ...]
    jobs: int
    timeout_s: float | None
    named: Named


def _branch(console: Console, asked: _Branch, full: bool) -> None:
    from agentgym.cli.transcript import print_step
    from agentgym.rollout.branch import branch_episodes

    store, single = asked.store, len(asked.agents) == 1

    def on_step(branch: int, step: Step) -> None:
        if single:
            print_step(console, step, full=full)

    new = _with_provider(
        asked.named.provider(asked.row.sandbox),
        lambda provider: branch_episodes(
            *(store, asked.row.id, asked.k, asked.agents, provider),
            jobs=asked.jobs,
            timeout_s=asked.timeout_s,
            on_step=on_step,
            named=asked.named,
        ),
    )
    rows = [store.episode(id) for id in new]
    if single:
        _tell_branch(console, asked, rows[0], full)
    else:
        _tell_branches(console, asked, rows)


def _tell_branch(console: Console, asked: _Branch, row: EpisodeRow, full: bool) -> None:
    from agentgym.cli.transcript import print_verdict
    from agentgym.eval.printable import clean

    print_verdict(console, row, full=full)
    for line in row.log.splitlines():
        console.print(clean(line), style="yellow", markup=False, soft_wrap=True)
    told = f"\nepisode {row.id}, branched off {asked.row.id} at step {asked.k}:"
    there = f"agentgym replay {asked.store.folder} {row.id}"
    console.print(f"{told}  {there}", markup=False, soft_wrap=True)


def _tell_branches(console: Console, asked: _Branch, rows: Sequence[EpisodeRow]) -> None:
    from agentgym.cli.transcript import episode_table
    from agentgym.eval.printable import clean

    console.print(episode_table(rows))
    for line in dict.fromkeys(line for row in rows for line in row.log.splitlines()):
        console.print(clean(line), style="yellow", markup=False, soft_wrap=True)
    how = "forks of one re-execution" if rows[0].forked else "a re-execution for each"
    told = f"\n{len(rows)} branches off episode {asked.row.id} at step {asked.k}: {how}"
    console.print(told, markup=False, soft_wrap=True)


def _with_provider(name: str, work: Callable[[SandboxProvider], Awaitable[T]]) -> T:
    from agentgym import plugins

    async def run() -> T:
        provider = plugins.make_provider(name)
        try:
            return await work(provider)
        finally:
            await provider.close()

    return asyncio.run(run())
