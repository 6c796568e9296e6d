"""`agentgym grade`: grades the steps of recorded episodes, and shows earlier gradings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentgym.cli.vouching import TaskOption
from agentgym.errors import ConfigError

if TYPE_CHECKING:
    from rich.table import Table

    from agentgym.record.store import EpisodeRow, RunStore
    from agentgym.records import Grading
    from agentgym.rollout.trust import Named

SCHEMA = "agentgym.gradings/1"


def grade(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    grader: Annotated[
        list[str] | None,
        typer.Option(
            "--grader",
            "-g",
            help="A step grader, e.g. loops or llm:MODEL; repeatable. Default: all that need no "
            "model.",
        ),
    ] = None,
    episode: Annotated[
        list[int] | None,
        typer.Option("--episode", "-e", help="Id of an episode; repeatable. Default: all."),
    ] = None,
    history: Annotated[
        bool, typer.Option("--history", help="Grade nothing; show every stored grading.")
    ] = False,
    task: TaskOption = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write the grades.", dir_okay=False),
    ] = None,
) -> None:
    """Grade the steps of recorded episodes; nothing is executed, earlier gradings are kept."""
    from agentgym.cli.console import stderr_console, stdout_console
    from agentgym.record.store import RunStore
    from agentgym.rollout.trust import Named, named_tasks
    from agentgym.verify.steps.registry import USUAL, create

    if history and grader:
        raise ConfigError("--history shows stored gradings and takes no --grader; drop one of them")
    graders = {} if history else {spec: create(spec) for spec in grader or USUAL}
    named = Named(named_tasks(task or ()))
    store = RunStore.open(run, readonly=history)
    try:
        rows = chosen(store, episode)
        begun = [row for row in rows if row.first is not None]
        console, shown = stdout_console(), list[tuple["EpisodeRow", "Sequence[Grading]"]]()
        if not history:
            _say_refusals(begun, named)
        for row in begun:
            gradings = (
                store.history.gradings(row.id) if history else _grade(store, row, graders, named)
            )
            shown.append((row, gradings))
            _say_episode(console, row)
            console.print(grading_table(gradings, dated=history))
            _say_age(console, store, row, gradings)
        if len(begun) < len(rows):
            told = f"{len(rows) - len(begun)} episodes have not begun and have no steps to grade"
            stderr_console().print(told, style="yellow", markup=False, soft_wrap=True)
    finally:
        store.close()
    if json_file is not None:
        _write(json_file, run, shown)


def chosen(store: RunStore, ids: Sequence[int] | None) -> list[EpisodeRow]:
    """Return the requested episodes, or all of them if no id was given."""
    return [store.episode(id) for id in dict.fromkeys(ids)] if ids else store.episodes()


def _say_refusals(rows: Sequence[EpisodeRow], named: Named) -> None:
    """List the tasks that are not read because only the record names them."""
    from agentgym.cli.console import stderr_console
    from agentgym.cli.vouching import command_line, refusals
    from agentgym.eval.printable import clean

    refused = refusals([row.plan.task for row in rows], [], named)
    if not refused:
        return
    told = "\n".join(f"graded without its task: {one.reason}" for one in refused)
    line = command_line([option for one in refused for option in one.options])
    stderr_console().print(
        clean(f"{told}\nif you trust that, run:\n  {line}"),
        style="yellow",
        markup=False,
        soft_wrap=True,
    )


def _grade(
    store: RunStore, row: EpisodeRow, graders: dict[str, Any], named: Named
) -> Sequence[Grading]:
    import asyncio

    from agentgym.rollout.grading import grade_episode

    return asyncio.run(grade_episode(store, row.id, graders, named=named))


def _say_episode(console: Any, row: EpisodeRow) -> None:
    from agentgym.eval.printable import clean

    verdict = row.verdict
    if verdict is None or not verdict.scored:
        ending = row.state if verdict is None else verdict.status
    else:
        ending = f"{'passed' if verdict.outcome else 'failed'}  score {verdict.score:.3f}"
    told = f"\nepisode {row.id}  {row.plan.task}  {row.plan.agent}  {ending}  {row.steps} steps"
    console.print(clean(told), style="bold", markup=False, soft_wrap=True)


def _say_age(console: Any, store: RunStore, row: EpisodeRow, gradings: Sequence[Grading]) -> None:
    """Report gradings that do not match the present record."""
    verdict, present = row.verdict, store.history.trajectory(row.id)
    told = []
    if any(one.trajectory != present for one in gradings):
        told.append("some are of steps that a later run of the episode replaced")
    judged = verdict.verifier if verdict else ""
    others = [one for one in gradings if judged and one.rubric and judged != one.rubric]
    if others and max(gradings, key=lambda one: one.at) in others:
        told.append("the rubric is not the one of the verdict; run: agentgym regrade RUN")
    elif others:
        told.append("some were made with another rubric than that of the present verdict")
    for line in told:
        console.print(line, style="yellow", markup=False, soft_wrap=True)


def grading_table(gradings: Sequence[Grading], *, dated: bool) -> Table:
    """Return a table of what each grader counted and the first step it found bad."""
    from rich.table import Table
    from rich.text import Text

    from agentgym.eval.printable import clean
    from agentgym.records import CheckStatus

    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    for heading in (*(["at"] if dated else []), "grader", "version"):
        table.add_column(heading, no_wrap=True)
    for heading in ("good", "bad", "errors", "first bad step"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for one in gradings:
        statuses = [g.status for g in one.grades]
        counts = [statuses.count(s) for s in (CheckStatus.PASS, CheckStatus.FAIL)]
        errors, first = statuses.count(CheckStatus.ERROR), one.first_failure
        why = (
            f"error: {one.error}"
            if one.error
            else f"{first.label}: {first.message}"
            if first
            else one.measured.message
            if one.measured
            else ""
        )
        table.add_row(
            *([one.at] if dated else []),
            *(Text(clean(one.grader)), Text(clean(one.version))),
            *(["–", "–"] if one.error else map(str, counts)),
            Text(str(errors) if errors else "–", "yellow" if errors else ""),
            Text("–" if first is None else str(first.step), "red" if first else ""),
            Text(clean(why) if one.measured else _one_line(clean(why)), "yellow" * bool(one.error)),
        )
    return table


def _one_line(text: str) -> str:
    line = text.replace("\n", " ").removesuffix(": ")
    return line if len(line) <= 160 else f"{line[:159]}…"


def _write(path: Path, run: Path, shown: Sequence[tuple[EpisodeRow, Sequence[Grading]]]) -> None:
    import json

    from agentgym.eval.results import whole_file

    document = {
        "schema": SCHEMA,
        "run": str(run),
        "episodes": [
            {
                "id": row.id,
                "task": row.plan.task,
                "seed": row.plan.seed,
                "agent": row.plan.agent,
                "steps": row.steps,
                "verifier": row.verdict.verifier if row.verdict else "",
                "gradings": [_grading(one) for one in gradings],
            }
            for row, gradings in shown
        ],
    }
    with whole_file(path) as file:
        file.write(json.dumps(document, indent=1) + "\n")


def _grading(one: Grading) -> dict[str, Any]:
    from agentgym.record import codec

    first = one.first_failure
    return {
        "grader": one.grader,
        "version": one.version,
        "at": one.at,
        "verifier": one.verifier,
        "rubric": one.rubric,
        "trajectory": one.trajectory,
        "error": one.error,
        "first_failing_step": None if first is None else first.step,
        "grades": [codec.plain(grade) for grade in one.grades],
    }
