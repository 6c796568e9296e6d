"""`agentgym task mutants`: which small mistakes do the tests of a task overlook?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from agentgym.authoring.mutation import Survey, SurveyPlan
    from agentgym.task.model import Task

SCHEMA = "agentgym.mutants/1"


def mutants(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task id, or a folder's path.")],
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Try at most this number, drawn from the seed.")
    ] = 500,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Draws among more mutants.")] = 0,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="Mutate modules that call nothing of the solution, too."),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Sandboxes at a time. Default: processors."),
    ] = None,
    deadline_s: Annotated[
        float, typer.Option("--deadline-s", min=1, help="Try no mutant after this time.")
    ] = 1800.0,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Sandbox provider.")] = "bubblewrap",
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write every mutant.", dir_okay=False),
    ] = None,
) -> None:
    """Put small mistakes into the solution of a task about a repository; print what survives.

    Each mutant is the state after the solution with one mistake: another comparison, a removed
    statement, a copy that is left out. A test that fails kills it. A survivor is a behaviour that
    no test looks at, or code that means the same; it is printed as a diff (docs/authoring.md).
    """
    from agentgym.authoring.choose import one_task
    from agentgym.authoring.mutation import SurveyPlan
    from agentgym.cli.console import stdout_console
    from agentgym.errors import ConfigError
    from agentgym.task.load import load_folder

    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise ConfigError(f"--json {json_file}: expected a folder at {json_file.absolute().parent}")
    chosen = load_folder(one_task(task))
    plan = SurveyPlan(
        limit=limit,
        seed=seed,
        everywhere=everywhere,
        jobs=jobs or os.cpu_count() or 1,
        deadline_s=deadline_s,
    )
    survey = _surveyed(chosen, sandbox, plan)
    console = stdout_console()
    for line in _survivors(survey):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    console.print(_table(survey))
    console.print(_summary(survey), markup=False, soft_wrap=True)
    if json_file is not None:
        _write(json_file, survey, plan.seed)


def _surveyed(task: Task, sandbox: str, plan: SurveyPlan) -> Survey:
    from agentgym.authoring.mutation import issue_of, survey_task
    from agentgym.authoring.stage import open_provider
    from agentgym.cli.console import stderr_console
    from agentgym.cli.interruption import run_cancellable, stoppable
    from agentgym.eval.requirements import build_images_of

    console = stderr_console()

    def tell(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    # Before any build, because a name may be mistyped.
    issue_of(task)
    provider = open_provider(sandbox)
    build_images_of([task], tell)

    async def run() -> Survey:
        try:
            return await survey_task(task, provider, plan, tell)
        finally:
            await provider.close()

    with stoppable(lambda: None):
        return run_cancellable(run())


def _survivors(survey: Survey) -> list[str]:
    from agentgym.authoring.mutation import Fate
    from agentgym.eval.printable import clean

    lines = []
    for one in survey.judged:
        if one.fate in (Fate.SURVIVED, Fate.ERROR):
            said = f": {one.why}" if one.fate is Fate.ERROR else ""
            where = f" in {one.mutant.name}" if one.mutant.name else ""
            lines.append(clean(f"{one.fate}: {one.mutant.operator}{where}{said}"))
            lines += [clean(line) for line in one.mutant.hunk().split("\n")]
            lines.append("")
    return lines


def _table(survey: Survey) -> Table:
    from rich.table import Table

    from agentgym.authoring.mutation import Fate

    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("operator", no_wrap=True)
    for heading in ("killed", "survived", "other"):
        table.add_column(heading, justify="right", no_wrap=True)
    for operator in sorted({one.mutant.operator for one in survey.judged}):
        fates = [one.fate for one in survey.judged if one.mutant.operator == operator]
        killed = fates.count(Fate.KILLED) + fates.count(Fate.TIMED_OUT)
        survived = fates.count(Fate.SURVIVED)
        rest = len(fates) - killed - survived
        table.add_row(operator, str(killed), str(survived), str(rest or "–"))
    return table


def _summary(survey: Survey) -> str:
    from agentgym.authoring.mutation import Fate

    told = [f"{len(survey.judged)} of {survey.found} mutants of {survey.task}"]
    told += [f"{count} {fate}" for fate in Fate if (count := len(survey.of(fate)))]
    return ", ".join(told)


def _write(path: Path, survey: Survey, seed: int) -> None:
    import json

    from agentgym.eval.results import whole_file

    document: dict[str, Any] = {
        "schema": SCHEMA,
        "task": survey.task,
        "seed": seed,
        "found": survey.found,
        "mutants": [
            {
                "path": one.mutant.path,
                "line": one.mutant.line,
                "name": one.mutant.name,
                "nearness": one.mutant.nearness,
                "operator": one.mutant.operator,
                "fate": one.fate.value,
                "why": one.why,
                "diff": one.mutant.hunk(),
            }
            for one in survey.judged
        ],
    }
    with whole_file(path) as file:
        file.write(json.dumps(document, indent=1) + "\n")
