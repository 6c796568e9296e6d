"""`agentgym train`: trains a policy on tasks, or goes on with a run that was interrupted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentgym.cli import cluster_options
from agentgym.errors import ConfigError

if TYPE_CHECKING:
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
        bool, typer.Option("--resume", help="Go on with the run in --out from its checkpoint.")
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
        again = shlex.join(["agentgym", "train", "--out", str(run.folder), "--resume"])
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

    if resume:
        if out is None or config is not None:
            raise ConfigError(
                "--resume takes the folder of the run and no configuration: --out DIR"
            )
        return TrainingRun.resume(out)
    if config is None:
        raise ConfigError("name a configuration, e.g. examples/tiny-terminal.toml")
    wanted = load_config(config).model_copy(update=changes)
    return TrainingRun.create(out or Path("runs") / config.stem, wanted)


def _summary(run: TrainingRun) -> str:
    """Return what the policy reached on held-out seeds before and after."""
    name = "evaluation_pass_rate"
    measured = [each[name] for each in run.history if each.get(name) is not None]
    lines = [f"figures: {run.folder / 'metrics.jsonl'} and {run.folder / 'tensorboard'}"]
    if measured:
        first, last = measured[0], measured[-1]
        lines.insert(0, f"held-out seeds passed: {first:.1%} untrained, {last:.1%} trained")
    return "\n".join(lines)
