"""`agentgym task`: starts a task, tries it out by hand, proves it sound."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from agentgym.cli.mine import mine
from agentgym.cli.mutants import mutants
from agentgym.cli.releases import releases
from agentgym.cli.suite import importers
from agentgym.errors import AgentGymError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentgym.authoring.finding import Report
    from agentgym.task.model import Task

app = typer.Typer(
    help="Create tasks, try them by hand, and prove that they are sound.", no_args_is_help=True
)


app.command("releases", epilog="Example:  [bold]agentgym task releases[/]")(releases)
app.command("mine", epilog="Example:  [bold]agentgym task mine ../CLONE --out mined --jobs 2[/]")(
    mine
)
app.command("mutants", epilog="Example:  [bold]agentgym task mutants swe/shelf-tags[/]")(mutants)
app.add_typer(importers, name="import", help="Import tasks: FORMAT PATH. Each has its options.")


@app.command("new", epilog="Example:  [bold]agentgym task new web-shop/refund --template[/]")
def new(
    name: Annotated[str, typer.Argument(metavar="SUITE/NAME", help="Name of the new task.")],
    env: Annotated[str, typer.Option("--env", help="Its environment.")] = "terminal",
    template: Annotated[
        bool, typer.Option("--template", help="A family of instances, drawn from the seed.")
    ] = False,
    at: Annotated[
        Path,
        typer.Option("--at", metavar="DIR", help="Write to DIR/tasks/SUITE/NAME. Default: here."),
    ] = Path("."),
) -> None:
    """Write the folder of a new task: a small one that is sound, for you to change."""
    import shlex

    from agentgym.authoring.scaffold import new_task
    from agentgym.cli.console import echo

    folder = new_task(name, env=env, template=template, root=at)
    echo(f"wrote {folder}:")
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        echo(f"  {file.relative_to(folder)}")
    # A leading dot or slash marks a path, whatever the catalogue holds.
    path = shlex.quote(str(folder) if folder.is_absolute() else f"./{folder}")
    echo("Change them, then:")
    echo(f"  agentgym task try {path}      # act in it, see its checkpoints light up")
    echo(f"  agentgym task check {path}    # prove it sound")


Patterns: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATTERN",
        help="Suites, task ids, globs, or paths of folders. Default: all below ./tasks.",
    ),
]
Seeds: TypeAlias = Annotated[
    int, typer.Option("--seeds", min=1, help="Instances of every template, seeds 0 to N-1.")
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Concurrent episodes. Default: twice the processors."),
]
JudgeSpec: TypeAlias = Annotated[
    str,
    typer.Option(
        "--judge",
        metavar="openai:MODEL",
        help="Judge for checks that need one. Default: $AGENTGYM_JUDGE.",
        show_default=False,
    ),
]
FindingsFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Also write the findings.", dir_okay=False),
]
Untrusted: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--untrusted",
        help="Check untrusted folders in a sandbox without network, home and the cache "
        "(docs/trust.md).",
    ),
]


@app.command(
    "check",
    epilog="Example:  [bold]agentgym task check terminal/git-repair ./tasks/shop/refund[/]",
)
def check(
    patterns: Patterns = None,
    seeds: Seeds = 2,
    jobs: Jobs = None,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Sandbox provider.")] = "bubblewrap",
    judge: JudgeSpec = "",
    json_file: FindingsFile = None,
    untrusted: Untrusted = False,
) -> None:
    """Prove that tasks are sound; exit with 1 if a task is not.

    The solution of a sound task scores 1 in two equal runs, also with harmless reads around it.
    Doing nothing, giving up, random calls, unfinished work, mutants and cheats do not pass.
    Grading needs no network, and no gold file can be read in the sandbox.
    """
    from agentgym.authoring.choose import task_folders

    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise ConfigError(f"--json {json_file}: expected a folder at {json_file.absolute().parent}")
    folders = task_folders(patterns or ())
    if untrusted:
        if judge:
            raise ConfigError(
                "--judge: no judge can be reached with --untrusted, which has no network; leave "
                "one of them out"
            )
        words = ["--seeds", str(seeds), "--sandbox", sandbox]
        words += ["--jobs", str(jobs)] if jobs else []
        raise typer.Exit(_check_untrusted(folders, words, json_file))
    began_s = time.monotonic()
    reports = _check(folders, seeds, jobs, sandbox, judge)
    _publish(reports, seeds, time.monotonic() - began_s, json_file)
    if not all(report.sound for report in reports):
        raise typer.Exit(1)


def _publish(
    reports: Sequence[Report], seeds: int, duration_s: float, json_file: Path | None
) -> None:
    """Print the reports, and write them to the file."""
    import json

    from agentgym.authoring.show import reports_to_json, show_reports
    from agentgym.cli.console import stdout_console

    show_reports(stdout_console(), reports)
    if json_file is not None:
        report = reports_to_json(reports, seeds, duration_s)
        json_file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _check_untrusted(folders: Sequence[Path], words: Sequence[str], json_file: Path | None) -> int:
    """Check folders in a sandbox, and treat its output as untrusted."""
    from agentgym.authoring.quarantine import Quarantine
    from agentgym.cli.console import echo
    from agentgym.cli.interruption import stoppable, terminable

    def say(line: str, is_error: bool) -> None:
        echo(line, is_error=is_error)

    with stoppable(lambda: None), terminable(), Quarantine(folders) as quarantine:
        paths = [os.path.realpath(folder) for folder in folders]
        given = ["--json", quarantine.report_path]
        code = quarantine.run(["task", "check", *paths, *words, *given], say)
        report = quarantine.report()
    if report is None and code == 0:
        say("it ended without a report, so nothing is known of the tasks", True)
        code = 1
    if json_file is not None and report is not None:
        json_file.write_bytes(report)
    return code


def _check(
    folders: Sequence[Path], seeds: int, jobs: int | None, sandbox: str, judge: str
) -> Sequence[Report]:
    from agentgym.authoring.check import check_tasks, default_jobs
    from agentgym.authoring.progress import CheckProgress
    from agentgym.authoring.stage import open_stage
    from agentgym.cli.console import stderr_console
    from agentgym.cli.interruption import run_cancellable, stoppable
    from agentgym.env.resolved_task import needs_sandbox

    progress = CheckProgress(stderr_console(), len(folders))
    tasks = _readable(folders)
    at_a_time, needed = jobs or default_jobs(), any(map(needs_sandbox, tasks))
    # Before any build, because a name may be mistyped.
    stage = open_stage(sandbox, at_a_time, progress.episode, judge, needed=needed)
    _build_images(tasks)

    async def run() -> Sequence[Report]:
        try:
            return await check_tasks(
                folders, stage, seeds=seeds, on_begin=progress.begin, on_report=progress.end
            )
        finally:
            await stage.close()

    with stoppable(lambda: None), progress:
        reports = run_cancellable(run())
    return reports


def _readable(folders: Sequence[Path]) -> list[Task]:
    """Return the tasks that can be read; the check of any other reports the error."""
    import contextlib

    from agentgym.env.resolved_task import resolve_task
    from agentgym.task.load import load_folder

    tasks = []
    for folder in folders:
        with contextlib.suppress(AgentGymError):
            task = load_folder(folder)
            resolve_task(task)
            tasks.append(task)
    return tasks


def _build_images(tasks: Sequence[Task]) -> None:
    """Build the images that tasks need."""
    from agentgym.cli.console import stderr_console
    from agentgym.eval.requirements import build_images_of

    console = stderr_console()
    build_images_of(tasks, lambda line: console.print(line, markup=False, soft_wrap=True))


@app.command("try", epilog="Example:  [bold]agentgym task try terminal/git-repair[/]")
def try_out(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task id, or a folder's path.")],
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the instance.")] = 0,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Sandbox provider.")] = "bubblewrap",
    surface: Annotated[
        list[str] | None,
        typer.Option("--surface", help="Act through this surface instead; repeatable."),
    ] = None,
) -> None:
    """Act in a task by hand; each command shows which checkpoints hold.

    A line is a command for the shell, or a call: a tool's name and its arguments as JSON, such as
    `tickets_get {"ticket": 17}`. Each runs as the agent's would, and the state is judged after it.
    `:help` lists further commands; Ctrl-D ends the session with the final verdict and discards
    the sandbox. Input that does not come from a terminal is read line by line.
    """
    from agentgym.authoring.choose import one_task
    from agentgym.authoring.hands_on import Attempt
    from agentgym.authoring.stage import open_provider
    from agentgym.cli.console import stdout_console
    from agentgym.cli.hands_on import Session
    from agentgym.env.portal import portal
    from agentgym.env.resolved_task import needs_sandbox
    from agentgym.task.load import load_folder

    folder = one_task(task)
    # Before any build, because a name may be mistyped.
    chosen = load_folder(folder).with_surfaces(surface or ())
    provider = open_provider(sandbox, needed=needs_sandbox(chosen))
    _build_images([chosen])
    attempt = Attempt(chosen, provider, seed)
    try:
        Session(attempt, stdout_console()).converse()
    finally:
        portal().run(attempt.close())
