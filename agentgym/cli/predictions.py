"""`agentgym grade-predictions` and `agentgym predictions`: patches from elsewhere, and of runs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentgym.cli.vouching import TaskOption, vouched_for

if TYPE_CHECKING:
    from agentgym.swe.instance import Instance
    from agentgym.swe.prediction_grading import Result
    from agentgym.swe.predictions import Prediction


def grade_predictions(
    predictions: Annotated[
        str, typer.Argument(metavar="PREDICTIONS", help="A file of predictions, or 'gold'.")
    ],
    instances: Annotated[
        Path, typer.Option("--instances", metavar="FILE", help="The instances, as in task import.")
    ],
    clones: Annotated[
        Path, typer.Option("--clones", metavar="DIR", help="Clones of the repositories.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of results and report.")
    ],
    only: Annotated[
        list[str] | None,
        typer.Option("--instance", metavar="ID", help="Only this instance; may be repeated."),
    ] = None,
    specs: Annotated[
        list[Path] | None,
        typer.Option("--specs", metavar="FILE", help="A table of environments; may be repeated."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="At a time. Default: processors.")
    ] = None,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Sandbox provider.")] = "bubblewrap",
) -> None:
    """Grade patches in SWE-bench's predictions format by the hidden tests of their instances.

    Called again with the same DIR, it grades what has no result yet. DIR/report.json has the fields
    of SWE-bench's report. The exit code is 1 if a prediction could not be graded.
    """
    from agentgym.cli.resumable import results_folder, run_resumable
    from agentgym.errors import ConfigError
    from agentgym.swe.prediction_grading import GradingPlan
    from agentgym.swe.prediction_grading import grade_predictions as grade
    from agentgym.swe.specs.table import BUNDLED, load_table

    if not clones.is_dir():
        raise ConfigError(f"--clones: no such folder: {clones}")
    known = _instances(instances, only or ())
    plan = GradingPlan(
        predictions=_predictions(predictions, known, chosen=bool(only)),
        instances=known,
        clones=clones,
        out=results_folder(out),
        tables=[load_table(path) for path in (BUNDLED, *(specs or ()))],
        jobs=jobs or os.cpu_count() or 1,
    )
    numbers = itertools.count(1)

    def described(result: Result) -> str:
        return f"[{next(numbers)}/{len(plan.predictions)}] {_described(result)}"

    report = run_resumable(
        sandbox,
        lambda provider, tell: grade(plan, provider, tell, lambda result: tell(described(result))),
    )
    _tell_report(report, out / "report.json")
    if report["error_instances"]:
        raise typer.Exit(1)


def _described(result: Result) -> str:
    """Return the line of a graded prediction."""
    from agentgym.swe.prediction_grading import Fate

    # The cause of a failed build stands below its first line.
    first = result.reason.partition("\n")[0]
    why = result.reason if result.fate is Fate.ERROR else first
    return f"{result.instance_id}  {result.fate.value}  {why}"


def _tell_report(report: Mapping[str, Any], file: Path) -> None:
    from agentgym.cli.console import stdout_console

    stdout_console().print(
        f"{report['resolved_instances']} of {report['submitted_instances']} resolved, "
        f"{report['unresolved_instances']} not, {report['empty_patch_instances']} empty, "
        f"{report['error_instances']} could not be graded\n{file}",
        markup=False,
        soft_wrap=True,
    )


def _instances(path: Path, only: Sequence[str]) -> dict[str, Instance]:
    """Return the instances of a file by id, or those that are named.

    Raises:
        NotFoundError: The file does not have a named one.
    """
    from agentgym.errors import NotFoundError
    from agentgym.swe.instance_files import read_instances

    known = {each.id: each for each in read_instances(path)}
    for name in only:
        if name not in known:
            raise NotFoundError("instance", name, known)
    return {name: each for name, each in known.items() if not only or name in only}


def _predictions(
    given: str, instances: Mapping[str, Instance], *, chosen: bool
) -> list[Prediction]:
    """Return the predictions of a file or the gold ones; those of chosen instances alone."""
    from agentgym.swe.predictions import gold_predictions, read_predictions

    if given == "gold":
        return list(gold_predictions(instances.values()))
    return [
        each
        for each in read_predictions(Path(given))
        if not chosen or each.instance_id in instances
    ]


def predictions(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File to write, JSON lines.")
    ],
    episode: Annotated[
        list[int] | None,
        typer.Option("--episode", "-e", help="Id of an episode; repeatable. Default: all."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Only episodes of this agent.")
    ] = None,
    task: TaskOption = None,
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", help="Sandbox provider; by default the recorded one.")
    ] = None,
) -> None:
    """Write the patches of a run's episodes as predictions; their actions are executed again.

    A file holds one prediction per instance: the first episode of each counts.
    """
    import asyncio

    from agentgym import plugins
    from agentgym.cli.console import stderr_console, stdout_console
    from agentgym.cli.grade import chosen
    from agentgym.errors import AgentGymError
    from agentgym.record.store import RunStore
    from agentgym.rollout.patches import recorded_prediction
    from agentgym.swe.predictions import write_predictions

    store, told = RunStore.open(run, readonly=True), stderr_console()
    try:
        over = [row for row in chosen(store, episode) if row.verdict is not None and row.first]
        rows = [row for row in over if agent in (None, row.plan.agent)]
        named = vouched_for(rows, task, sandbox)

        async def made() -> dict[str, Prediction]:
            found: dict[str, Prediction] = {}
            for row in rows:
                provider = plugins.make_provider(named.provider(row.sandbox))
                try:
                    prediction = await recorded_prediction(store, row, provider, named)
                except AgentGymError as error:
                    told.print(f"episode {row.id}: {error}", markup=False, soft_wrap=True)
                    continue
                finally:
                    await provider.close()
                if found.setdefault(prediction.instance_id, prediction) is not prediction:
                    told.print(f"episode {row.id}: {prediction.instance_id} has a prediction")
            return found

        count = write_predictions(out, asyncio.run(made()).values())
    finally:
        store.close()
    stdout_console().print(f"{count} predictions: {out}", markup=False, soft_wrap=True)
    if not count:
        raise typer.Exit(1)
