"""`agentgym train`: trains a policy on tasks, or goes on with a run that was interrupted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentgym.cli import cluster_options
from agentgym.errors import ConfigError

if TYPE_CHECKING:
    from agentgym.train.config import TrainConfig
    from agentgym.train.training_run import TrainingRun


def train(
    config: Annotated[
        Path | None,
        typer.Argument(metavar="[CONFIG]", help="Configuration, e.g. examples/tiny-terminal.toml."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Run folder. Default: runs/CONFIG."),
    ] = None,
    sandbox: Annotated[
        str | None,
        typer.Option("--sandbox", help="Sandbox provider. Default: the configuration's."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Seed of the run. Default: the configuration's."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with the run in --out from its checkpoint. CONFIG, if given, names task "
            "folders and a sandbox that the run may use.",
        ),
    ] = False,
    cluster: cluster_options.Cluster = None,
    workers: cluster_options.Workers = 2,
    worker_cpus: cluster_options.WorkerCpus = 1.0,
    worker_gpus: cluster_options.WorkerGpus = 0.0,
    worker_memory_mb: cluster_options.WorkerMemoryMb = 0,
    worker_resource: cluster_options.WorkerResources = None,
) -> None:
    """Train a policy on tasks by reinforcement learning, and draw its learning curve."""
    from agentgym.cli.console import stderr_console, stdout_console
    from agentgym.cli.interruption import run_cancellable, stoppable
    from agentgym.installation import missing_extra

    try:
        from agentgym.train.curve import draw_curve
        from agentgym.train.progress import TrainingProgress
        from agentgym.train.trainer import open_trainer
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "torch", "train") from error
    place = (workers, worker_cpus, worker_gpus, worker_memory_mb, worker_resource)
    on = cluster_options.read_cluster(cluster, *place)
    given = {"sandbox": sandbox, "seed": seed}
    changes = {name: value for name, value in given.items() if value is not None}
    run = _open(config, out, resume, changes)
    console = stderr_console()

    async def play() -> None:
        with TrainingProgress(console, run.config.iterations) as progress:
            async with open_trainer(run, progress, on) as trainer:
                await trainer.train()

    def tell() -> None:
        named = [] if config is None else [str(config)]
        words = ["agentgym", "train", *named, "--out", str(run.folder), "--resume"]
        again = shlex.join([*words, *(() if sandbox is None else ("--sandbox", sandbox))])
        told = f"\nstopped; what is learnt is kept. Go on with:\n  {again}"
        console.print(told, markup=False, soft_wrap=True)

    with stoppable(tell):
        run_cancellable(play())
    out_console = stdout_console()
    out_console.print(draw_curve(run.history), markup=False, soft_wrap=True)
    out_console.print(_summary(run), markup=False, soft_wrap=True)


def _open(
    config: Path | None, out: Path | None, resume: bool, changes: dict[str, Any]
) -> TrainingRun:
    from agentgym.train.config import load_config
    from agentgym.train.training_run import TrainingRun

    known = None if config is None else load_config(config).model_copy(update=changes)
    if config is not None and out is None:
        out = Path("runs") / config.stem
    if resume and out is not None:
        run = TrainingRun.resume(out)
        _check_named(run, known, changes.get("sandbox"))
        return run
    if known is None or out is None:
        raise ConfigError("name a configuration, e.g. examples/tiny-terminal.toml")
    return TrainingRun.create(out, known)


def _check_named(run: TrainingRun, known: TrainConfig | None, sandbox: str | None) -> None:
    """Check that the user named what a recorded configuration would run with the user's rights.

    Raises:
        ConfigError: It names a task folder or a sandbox that the user did not name.
    """
    from agentgym.cli.vouching import refusals
    from agentgym.rollout.trust import Named

    tasks = () if known is None else known.tasks
    sandbox = known.sandbox if known is not None else sandbox
    recorded, found = run.config, dict[str, None]()
    for name in recorded.tasks:
        # A folder of the same name elsewhere does not count: the run uses the recorded one.
        named = Named((name,) if name in tasks else (), recorded.sandbox)
        found |= dict.fromkeys(error.reason for error in refusals([name], [], named))
    named = Named((), sandbox if sandbox == recorded.sandbox else None)
    found |= dict.fromkeys(error.reason for error in refusals([], [recorded.sandbox], named))
    if found:
        reasons = "\n  - ".join(["", *found])
        words = shlex.join(["--out", str(run.folder), "--resume"])
        raise ConfigError(
            f"a record is not trusted to choose what runs with your rights:{reasons}\nif you "
            "trust that, name a configuration that has these tasks and this sandbox, such as the "
            f"one that the run began with:\n  agentgym train CONFIG {words}"
        )


def _summary(run: TrainingRun) -> str:
    """Return what the policy reached on held-out seeds before and after."""
    name = "evaluation_pass_rate"
    measured = [each[name] for each in run.history if each.get(name) is not None]
    lines = [f"figures: {run.folder / 'metrics.jsonl'} and {run.folder / 'tensorboard'}"]
    if measured:
        first, last = measured[0], measured[-1]
        lines.insert(0, f"held-out seeds passed: {first:.1%} untrained, {last:.1%} trained")
    return "\n".join(lines)
