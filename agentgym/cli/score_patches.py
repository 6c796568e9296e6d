"""`agentgym score-patches`: scores recorded patches without executing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentgym.cli.vouching import TaskOption, vouched_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from agentgym.eval.patch_comparison import Comparison, ScoredGroup
    from agentgym.rollout.patch_groups import AttemptGroup

SCHEMA = "agentgym.patch-scores/1"


def score_patches(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    scorer: Annotated[
        list[str] | None,
        typer.Option(
            "--scorer",
            "-s",
            help="A patch scorer, e.g. heuristic or llm:MODEL; repeatable. Default: all that need "
            "no model.",
        ),
    ] = None,
    episode: Annotated[
        list[int] | None,
        typer.Option("--episode", "-e", help="Id of an episode; repeatable. Default: all."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="Only attempts of this agent; repeatable."),
    ] = None,
    task: TaskOption = None,
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", help="Sandbox provider; by default the recorded one.")
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write every score.", dir_okay=False),
    ] = None,
) -> None:
    """Score recorded patches without executing them, and compare with the hidden tests.

    Attempts at one task with one seed are a group. Each scorer chooses the best attempt of each
    group; the table says how often the hidden tests accept its choice.
    """
    import asyncio

    from agentgym.cli.console import stderr_console, stdout_console, teller
    from agentgym.cli.grade import chosen
    from agentgym.errors import ConfigError
    from agentgym.record.store import RunStore
    from agentgym.rollout.patch_groups import attempt_groups
    from agentgym.swe.scoring.registry import USUAL, create

    scorers = {spec: create(spec) for spec in scorer or USUAL}
    store = RunStore.open(run, readonly=True)
    try:
        rows = [row for row in chosen(store, episode) if not agent or row.plan.agent in agent]
        named = vouched_for([row for row in rows if row.first], task, sandbox)
        told = teller(stderr_console())
        groups = asyncio.run(attempt_groups(store, rows, named, told))
    finally:
        store.close()
    if not groups:
        raise ConfigError(f"{run} has no scored attempt at a task about a repository")
    found = asyncio.run(_scored(scorers, groups))
    console = stdout_console()
    console.print(_table({spec: comparison for spec, (comparison, _, _) in found.items()}, found))
    for line in _remarks(next(iter(found.values()))[0]):
        console.print(line, markup=False, soft_wrap=True)
    if json_file is not None:
        _write(json_file, run, groups, found)


async def _scored(
    scorers: Mapping[str, Any], groups: Sequence[AttemptGroup]
) -> dict[str, tuple[Comparison, list[ScoredGroup], float]]:
    """Return for each scorer the comparison, the scores, and the seconds per patch."""
    import time

    from agentgym.eval.patch_comparison import ScoredGroup, compare
    from agentgym.swe.scoring.registry import score_attempts

    found = {}
    for spec, scorer in scorers.items():
        scored, began_s = [], time.monotonic()
        for group in groups:
            scores = await score_attempts(scorer, group.problem, group.attempts)
            outcomes = tuple(attempt.resolved is True for attempt in group.attempts)
            scored.append(ScoredGroup(group.problem.task, group.seed, outcomes, tuple(scores)))
        spent_s = time.monotonic() - began_s
        comparison = compare(scored)
        found[spec] = comparison, scored, spent_s / comparison.attempts
    return found


def _table(comparisons: Mapping[str, Comparison], found: Mapping[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from agentgym.eval.printable import clean

    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("scorer", no_wrap=True)
    for heading in ("resolved", "over chance", "95% interval", "AUC", "s a patch"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for spec, one in comparisons.items():
        ci = one.gain_ci95
        table.add_row(
            Text(clean(spec)),
            f"{one.best:.3f}",
            f"{one.best - one.chance:+.3f}",
            "–" if ci is None else f"{ci[0]:+.3f} … {ci[1]:+.3f}",
            "–" if one.auc is None else f"{one.auc:.3f}",
            f"{found[spec][2]:.3f}",
            one.finding,
        )
    return table


def _remarks(one: Comparison) -> list[str]:
    return [
        f"\n{one.attempts} attempts in {one.groups} groups, {one.mixed} of them with resolved and "
        "unresolved attempts",
        f"chance {one.chance:.3f}; execution of the hidden tests {one.ceiling:.3f}",
    ]


def _write(path: Path, run: Path, groups: Sequence[AttemptGroup], found: Mapping[str, Any]) -> None:
    import json
    from dataclasses import asdict

    from agentgym.eval.results import whole_file

    document = {
        "schema": SCHEMA,
        "run": str(run),
        "scorers": {
            spec: {**asdict(comparison), "finding": comparison.finding, "patch_s": patch_s}
            for spec, (comparison, _, patch_s) in found.items()
        },
        "attempts": [
            {
                "episode": id,
                "task": group.problem.task,
                "seed": group.seed,
                "resolved": attempt.resolved,
                "diff_bytes": len(attempt.diff.encode("utf-8", "replace")),
                "scores": {
                    spec: scored[at].scores[place] for spec, (_, scored, _) in found.items()
                },
            }
            for at, group in enumerate(groups)
            for place, (id, attempt) in enumerate(zip(group.episodes, group.attempts, strict=True))
        ],
    }
    with whole_file(path) as file:
        file.write(json.dumps(document, indent=1) + "\n")
