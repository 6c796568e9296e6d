"""`agentgym suite import tau2`: imports the domains of a checkout as suites."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from agentgym.formats.tau2.checkout import Checkout
    from agentgym.formats.tau2.replay import DomainReplay

SCHEMA = "agentgym.suite-import/1"


def import_suite(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A checkout; it is only read.")],
    domains: Annotated[
        list[str] | None,
        typer.Option("--domain", metavar="NAME", help="Only this domain; may be repeated."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only the first tasks of each domain.")
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(
            "--python",
            metavar="EXE",
            help="Python for the checkout's code. Default: its .venv, else the Python of agentgym.",
        ),
    ] = None,
    retrieval: Annotated[
        str,
        typer.Option(
            "--retrieval",
            metavar="NAME",
            help="Search method for agents of a domain with documents: a variant of the checkout.",
        ),
    ] = "golden_retrieval",
    call_s: Annotated[
        float, typer.Option("--call-s", min=0.1, help="Seconds that one call may take.")
    ] = 60.0,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write the result of each task."),
    ] = None,
) -> None:
    """Replay the reference solutions of tau2-bench under its own rules, and inaction.

    Tasks that can be replayed form a suite, which refers to the checkout by its path: nothing is
    copied. The checkout's code runs in a process of its own, with your rights.
    """
    from agentgym.cli.console import stdout_console
    from agentgym.formats.tau2.checkout import open_checkout

    checkout = open_checkout(path, python)
    for domain in domains or ():
        checkout.check(domain)
    found = _replay(checkout, domains or checkout.domains(), limit, call_s)
    console = stdout_console()
    console.print(_table(found))
    for line in (*_remarks(found), *_remember(checkout, found, retrieval)):
        console.print(line, markup=False, soft_wrap=True)
    if json_file is not None:
        _write_report(json_file, checkout, found)
    if all(one.problem for one in found):
        raise typer.Exit(1)


def _write_report(file: Path, checkout: Checkout, found: Sequence[DomainReplay]) -> None:
    import json

    report = {
        "schema": SCHEMA,
        "format": "tau2",
        "checkout": str(checkout.path),
        "domains": [one.to_json() for one in found],
    }
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _replay(
    checkout: Checkout, domains: Sequence[str], limit: int | None, call_s: float
) -> list[DomainReplay]:
    """Replay domains; show progress on a terminal, and a line for each domain in a log."""
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from agentgym.cli.console import stderr_console
    from agentgym.formats.tau2.replay import replay_domain

    console = stderr_console()
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    found = []
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        for domain in domains:
            shown = bar.add_task(domain, total=None)
            heard = partial(_show, bar, shown)
            one = replay_domain(checkout, domain, limit=limit, call_s=call_s, heard=heard)
            bar.remove_task(shown)
            done = "cannot be run here" if one.problem else f"{len(one.tasks)} tasks replayed"
            console.print(f"{domain}: {done}", markup=False)
            found.append(one)
    return found


def _idle(one: DomainReplay) -> Iterator[str]:
    """Yield the tasks that inaction passes, or for which it could not be judged."""
    judged = [(task.id, task.noop) for task in one.tasks if task.noop is not None]
    if passing := [name for name, noop in judged if noop.value == 1]:
        yield f"{one.domain}: pass on inaction: {', '.join(passing)}"
    if undecided := [name for name, noop in judged if noop.value is None and not noop.broken]:
        yield f"{one.domain}: pass on inaction unless a judge objects: {', '.join(undecided)}"
    for name, noop in judged:
        if noop.broken:
            yield f"{one.domain} {name}: inaction not judged: {noop.broken}"


def _remember(checkout: Checkout, found: Sequence[DomainReplay], retrieval: str) -> Iterator[str]:
    """Create suites of the replayed tasks, and yield the command that runs each."""
    from agentgym import catalogue
    from agentgym.formats.tau2.suite import count_tasks, write_suite

    root = catalogue.imported_dir()
    for one in found:
        if one.tasks:
            before = count_tasks(root, one.domain)
            suite = write_suite(
                root,
                checkout,
                one.domain,
                [task.id for task in one.tasks],
                source=one.source,
                retrieval=retrieval,
            )
            if before > len(one.tasks):
                yield f"{one.domain}: replaces an import of {before} tasks by {len(one.tasks)}"
            yield f"{one.domain}: run it with: agentgym eval {suite} -a oracle -a noop"


def _show(bar: Progress, shown: TaskID, done: int, total: int) -> None:
    bar.update(shown, completed=done, total=total)


_COLUMNS = {
    "tasks": "tasks",
    "gold_1": "gold = 1",
    "gold_0": "gold = 0",
    "needs_judge": "needs a judge",
    "trouble": "not judged",
    "raised_calls": "gold calls that raised",
    "noop_1": "pass on inaction",
}


def _table(found: Sequence[DomainReplay]) -> object:
    from rich.table import Table

    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("domain", no_wrap=True)
    for title in _COLUMNS.values():
        table.add_column(title, justify="right", no_wrap=True)
    for one in found:
        counts = one.counts()
        cells = ["–" if one.problem else str(counts[name]) for name in _COLUMNS]
        table.add_row(one.domain, *cells)
    return table


def _remarks(found: Sequence[DomainReplay]) -> Iterator[str]:
    """Yield remarks that explain the numbers, a line each."""
    for one in found:
        if one.problem:
            yield f"{one.domain}: not reproducible here: {one.problem}"
        if one.source:
            yield f"{one.domain}: its own task file is absent; these are of {one.source}"
        for task in one.tasks:
            name = f"{one.domain} {task.id}"
            if task.trouble:
                yield f"{name}: not judged: {task.trouble}"
            elif task.gold is not None and task.gold.value == 0:
                failed = ", ".join(part for part, held in task.gold.parts.items() if not held)
                yield f"{name}: its own reference solution fails {failed}"
            for raised in task.raised:
                yield f"{name}: gold call raised: {raised.call}: {raised.error}"
        yield from _idle(one)
        if judged := sum(task.needs_judge for task in one.tasks):
            yield (
                f"{one.domain}: {judged} tasks also need a language model to judge sentences "
                "(NL_ASSERTION); their other parts are 1 under the reference solution"
            )
