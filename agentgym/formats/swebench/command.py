"""`agentgym task import swebench`: instances and clones become a suite of tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentgym.swe.instance import Instance
    from agentgym.swe.specs.table import SpecTable


def import_suite(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="JSON lines (or a JSON array) of instances.")
    ],
    clones: Annotated[
        Path,
        typer.Option(
            "--clones", metavar="DIR", help="Clones, named owner/name or owner__name; only read."
        ),
    ],
    suite: Annotated[
        str | None,
        typer.Option("--suite", metavar="NAME", help="Name of the suite. Default: the file's."),
    ] = None,
    instances: Annotated[
        list[str] | None,
        typer.Option("--instance", metavar="ID", help="Only this instance; may be repeated."),
    ] = None,
    specs: Annotated[
        list[Path] | None,
        typer.Option("--specs", metavar="FILE", help="A table of environments; may be repeated."),
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out instances that cannot be read or run.")
    ] = False,
) -> None:
    """Write a task for each instance of SWE-bench, Multi-SWE-bench or SWE-bench Pro.

    The repository of a task is the base commit alone. The gold patch is the reference solution.
    Images are built when the tasks first run.
    """
    from agentgym import catalogue
    from agentgym.cli.console import stderr_console, stdout_console, teller
    from agentgym.errors import AgentGymError, NotFoundError
    from agentgym.swe.instance_files import read_instances
    from agentgym.swe.specs.table import BUNDLED, load_table
    from agentgym.swe.task_folder import folder_name

    tell = teller(stderr_console())
    found = read_instances(file, refused=tell if skip_bad else None)
    known = {instance.id: instance for instance in found}
    for wanted in instances or ():
        if wanted not in known:
            raise NotFoundError("instance", wanted, known)
    chosen = [known[wanted] for wanted in instances or known]
    tables = [load_table(path) for path in (BUNDLED, *(specs or ()))]
    name = folder_name(suite or f"swebench-{file.stem}")
    target = catalogue.imported_dir() / "tasks" / name
    written, failed = 0, 0
    stand_ins: Counter[tuple[str, str]] = Counter()
    for instance in chosen:
        try:
            replaced = _write(target, instance, clones, tables)
        except AgentGymError as error:
            if not skip_bad:
                raise
            tell(f"{instance.id}: left out: {error}")
            failed += 1
        else:
            written += 1
            stand_ins.update(replaced.items())
    console = stdout_console()
    console.print(f"{written} tasks written, {failed} instances left out", markup=False)
    for (what, by), count in stand_ins.items():
        tasks = f"{count} task{'s' * (count > 1)}"
        console.print(f"{what} is not at hand; recipe {by} stands in for it: {tasks}", markup=False)
    if not written:
        raise typer.Exit(1)
    console.print(f"run it with: agentgym eval {name} -a oracle -a noop", markup=False)


def _write(
    target: Path, instance: Instance, clones: Path, tables: Sequence[SpecTable]
) -> Mapping[str, str]:
    """Write the task of an instance; return the recipes that stand in for others, by these.

    Raises:
        AgentGymError: It has no clone, or no table knows its environment.
    """
    from agentgym.swe.clone import find_clone
    from agentgym.swe.specs.resolve import packages_until, resolve_environment
    from agentgym.swe.task_folder import read_task, write_task

    clone = find_clone(clones, instance.repo)
    spec = resolve_environment(instance, clone, tables)
    folder = write_task(target, instance, clone, spec, packages_until(instance, clone))
    return read_task(folder).pointer.replaced
