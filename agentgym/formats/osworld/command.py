"""`agentgym suite import osworld`: which tasks of a checkout can run, and what the others lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from agentgym.formats.osworld.checkout import Checkout
    from agentgym.formats.osworld.needs import Missing

SCHEMA = "agentgym.suite-import/1"
_SHOWN = 12


@dataclass(frozen=True)
class Examined:
    """The findings about one task.

    Attributes:
        domain: Its domain.
        task: Its id.
        missing: What it lacks; empty if it can run.
        is_infeasible: Whether giving up is its right answer.
    """

    domain: str
    task: str
    missing: tuple[Missing, ...]
    is_infeasible: bool = False


def import_suite(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A checkout; it is only read.")],
    files: Annotated[
        Path | None,
        typer.Option("--files", metavar="DIR", help="Folder with the tasks' online files."),
    ] = None,
    env: Annotated[
        str, typer.Option("--env", metavar="NAME", help="Environment in which the tasks run.")
    ] = "desktop",
    domains: Annotated[
        list[str] | None,
        typer.Option("--domain", metavar="NAME", help="Only this domain; may be repeated."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Report what is missing, and write nothing.")
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write what each task lacks."),
    ] = None,
) -> None:
    """Find the tasks of OSWorld that can run here, and name what the others lack.

    Those that can run form a suite, which refers to the checkout by its path: nothing is copied or
    downloaded. The exit code is 0 if at least one task can run, else 1.
    """
    from agentgym.cli.console import stdout_console
    from agentgym.formats.osworld.checkout import open_checkout

    folder = None if files is None else _folder(files)
    checkout = open_checkout(path)
    found = list(_examine(checkout, folder, env, domains))
    console = stdout_console()
    console.print(_table(found))
    for line in _lacking(found):
        console.print(line, markup=False, soft_wrap=True)
    if json_file is not None:
        _write_report(json_file, checkout, env, found)
    ready = [(one.domain, one.task) for one in found if not one.missing]
    if not ready:
        raise typer.Exit(1)
    if not dry_run:
        console.print(_remember(checkout, ready, folder, env), markup=False, soft_wrap=True)


def _folder(files: Path) -> Path:
    from agentgym.errors import TaskError

    folder = Path(files).expanduser().absolute()
    if not folder.is_dir():
        raise TaskError(f"--files {files}: expected a folder")
    return folder


def _examine(
    checkout: Checkout, folder: Path | None, env: str, domains: list[str] | None
) -> Iterator[Examined]:
    from agentgym.errors import TaskError
    from agentgym.formats.osworld.environment import offered
    from agentgym.formats.osworld.files import LocalFiles
    from agentgym.formats.osworld.needs import Kind, Missing, missing

    files, environment = LocalFiles(folder), offered(env)
    for domain, name in checkout.chosen(domains):
        try:
            task = checkout.read(domain, name)
        except TaskError as error:
            yield Examined(domain, name, (Missing(Kind.TASK, str(error)),))
            continue
        lacks = missing(task, files, environment)
        yield Examined(domain, name, lacks, task.is_infeasible)


def _remember(
    checkout: Checkout, ready: Sequence[tuple[str, str]], folder: Path | None, env: str
) -> str:
    from agentgym import catalogue
    from agentgym.formats.osworld.suite import write_suite

    suite = write_suite(catalogue.imported_dir(), checkout, ready, files=folder, env=env)
    return f"{len(ready)} tasks imported; run them with: agentgym eval {suite} -a openai:MODEL"


def _table(found: Sequence[Examined]) -> object:
    from rich.table import Table

    from agentgym.formats.osworld.needs import Kind

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("domain", no_wrap=True)
    for title in ("tasks", "can run", *(f"no {kind}" for kind in Kind)):
        table.add_column(title, justify="right")
    by_domain: dict[str, list[Examined]] = {}
    for one in found:
        by_domain.setdefault(one.domain, []).append(one)
    rows = [*by_domain.items(), ("all", list(found))] if len(by_domain) > 1 else by_domain.items()
    for domain, tasks in rows:
        kinds = (sum(any(m.kind is kind for m in one.missing) for one in tasks) for kind in Kind)
        ready = sum(not one.missing for one in tasks)
        table.add_row(domain, *map(str, (len(tasks), ready, *kinds)))
    return table


def _lacking(found: Sequence[Examined]) -> Iterator[str]:
    """Yield what is missing, by kind, with the number of tasks that lack it."""
    from agentgym.formats.osworld.needs import Kind

    counts = Counter(one for each in found for one in each.missing)
    for kind in Kind:
        names = [(one.name, count) for one, count in counts.most_common() if one.kind is kind]
        if not names:
            continue
        if kind is Kind.FILE:
            yield f"missing files: {len(names)}; give a folder that has them: --files DIR"
        elif kind is Kind.TASK:
            yield from (f"broken: {name}" for name, _ in names[:_SHOWN])
        else:
            shown = ", ".join(f"{name} ({count})" for name, count in names)
            yield f"missing {kind}: {shown}"
    alone = Counter(one.missing[0].kind for one in found if len({m.kind for m in one.missing}) == 1)
    if alone:
        counted = ", ".join(f"{kind} {count}" for kind, count in alone.most_common())
        yield f"tasks that lack one kind of thing only: {counted}"


def _write_report(file: Path, checkout: Checkout, env: str, found: Sequence[Examined]) -> None:
    import json

    tasks: list[dict[str, Any]] = [
        {
            "domain": one.domain,
            "task": one.task,
            "infeasible": one.is_infeasible,
            "runs": not one.missing,
            "missing": [{"kind": str(each.kind), "name": each.name} for each in one.missing],
        }
        for one in found
    ]
    report = {
        "schema": SCHEMA,
        "format": "osworld",
        "checkout": str(checkout.path),
        "env": env,
        "tasks": tasks,
    }
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
