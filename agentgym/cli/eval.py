"""`agentgym eval`: runs agents on tasks, or resumes a run that was interrupted."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from agentgym.cli import cluster_options
from agentgym.cli import eval_options as options
from agentgym.errors import AgentGymError, ConfigError

if TYPE_CHECKING:
    from agentgym.cluster.place import ClusterOptions
    from agentgym.record.store import RunStore


def evaluate(
    patterns: options.Patterns = None,
    agent: options.Agents = None,
    trials: options.Trials = None,
    jobs: options.Jobs = None,
    pool: options.Pool = None,
    cluster: cluster_options.Cluster = None,
    workers: cluster_options.Workers = 2,
    worker_cpus: cluster_options.WorkerCpus = 1.0,
    worker_gpus: cluster_options.WorkerGpus = 0.0,
    worker_memory_mb: cluster_options.WorkerMemoryMb = 0,
    worker_resource: cluster_options.WorkerResources = None,
    sandbox: options.SandboxName = None,
    seed: options.Seed = None,
    max_steps: options.MaxSteps = None,
    timeout: options.TimeoutS = None,
    judge: options.JudgeSpec = None,
    user: options.UserSpec = None,
    surface: options.Surfaces = None,
    step_tests: options.StepTests = None,
    offline: options.Offline = None,
    keep_states: options.KeepStates = None,
    keep_states_mb: options.KeepStatesMb = None,
    group: options.Group = None,
    metadata: options.Metadata = None,
    out: options.RunFolder = None,
    resume: options.Resume = False,
    allow_unscored: options.AllowUnscored = False,
) -> None:
    """Evaluate agents on tasks and report their scores."""
    from agentgym.cli.console import echo

    given: dict[str, Any] = {
        "patterns": tuple(patterns or ()) or None,
        "agents": tuple(dict.fromkeys(agent or ())) or None,
        "trials": trials,
        "jobs": jobs,
        "pool": pool,
        "sandbox": sandbox,
        "seed": seed,
        "max_steps": max_steps,
        "timeout_s": timeout,
        "judge": judge,
        "user": user,
        "surfaces": tuple(dict.fromkeys(surface or ())) or None,
        "step_tests": step_tests,
        "offline": offline,
        "keep_states": keep_states and keep_states.value,
        "keep_states_mb": keep_states_mb,
        "group": group,
        "metadata": None if metadata is None else _object(metadata),
    }
    asked = {name: value for name, value in given.items() if value is not None}
    place = (workers, worker_cpus, worker_gpus, worker_memory_mb, worker_resource)
    # The first line is printed before the slow parts: imports, and reading every task.
    begun = f"taking up {out}" if resume and out else f"reading {', '.join(patterns or ('tasks',))}"
    echo(f"{begun} …", is_error=True)
    on = cluster_options.read_cluster(cluster, *place)
    store = _open(asked, out, resume)
    try:
        _run(store, jobs, pool, on)
        _conclude(store, allow_unscored)
    finally:
        store.close()


def _object(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"--metadata: expected a JSON object, got {text!r:.80}: {error}"
        ) from None
    if not isinstance(found, dict):
        raise ConfigError(f"--metadata: expected a JSON object, got {text!r:.80}")
    return found


def _open(asked: dict[str, Any], out: Path | None, resume: bool) -> RunStore:
    from agentgym.cli.console import stderr_console
    from agentgym.eval.evaluation import new_folder
    from agentgym.eval.plan import holds_run, resume_run, start_run

    if resume and out is None:
        raise ConfigError("--resume needs the folder of the run; add --out DIR")
    if resume and out is not None:
        if holds_run(out) or "patterns" not in asked:
            return resume_run(out, asked)
        told = f"nothing to resume in {out}, starting a new run"
        stderr_console().print(told, markup=False, soft_wrap=True)
    return start_run(out or new_folder(asked.get("patterns", ())), asked)


def _run(
    store: RunStore, jobs: int | None, pool: int | None, cluster: ClusterOptions | None
) -> None:
    from agentgym.cli.console import stderr_console, teller
    from agentgym.cli.interruption import run_cancellable, stoppable
    from agentgym.eval.evaluate import evaluate as run_episodes
    from agentgym.eval.progress import make_progress
    from agentgym.eval.requirements import build_images, used_fallbacks
    from agentgym.eval.settings import read_settings

    settings = read_settings(store)
    # A user who resumes a run may want other numbers than it was started with.
    settings = replace(
        settings,
        jobs=jobs or settings.jobs,
        pool=settings.pool if pool is None else pool,
    )
    console = stderr_console()
    show = teller(console)

    async def run_on_cluster(options: ClusterOptions) -> None:
        from agentgym.eval.remote import evaluate_on_cluster

        did = await evaluate_on_cluster(store, settings, options, progress=make_progress(console))
        for line in did.told():
            console.print(line, style="yellow", markup=False, soft_wrap=True)

    async def run() -> None:
        if cluster is not None:
            await run_on_cluster(cluster)
            return
        did = await run_episodes(
            store, settings, progress=make_progress(console), unrunnable=unrunnable
        )
        if did.faults:
            told = f"{did.faults} early starts of sandboxes failed, the last: {did.last_fault}"
            console.print(told, style="yellow", markup=False, soft_wrap=True)

    again = _resume_command(store)
    with stoppable(lambda: show(f"\nstopped; what is done is kept. Go on with:\n  {again}")):
        unrunnable = build_images(settings.tasks, show)
        store.amend("image_fallbacks", used_fallbacks(settings.tasks))
        run_cancellable(run())


def _conclude(store: RunStore, allow_unscored: bool) -> None:
    """Publish the results and report which scores are missing.

    Raises:
        AgentGymError: No episode could be scored.
        typer.Exit: Some episodes have no score; the exit code is `UNSCORED`.
    """
    from agentgym.cli import UNSCORED
    from agentgym.cli.console import stderr_console
    from agentgym.cli.report import publish
    from agentgym.eval.printable import clean

    results = publish(store)
    for warning in results["warnings"]:
        told = f"warning: {warning}"
        stderr_console().print(told, style="yellow", markup=False, soft_wrap=True)
    failed = [e for task in results["tasks"] for e in task["episodes"] if e["score"] is None]
    if not failed:
        return
    kinds = [episode["status"] for episode in failed]
    counts = ", ".join(f"{kinds.count(kind)} × {kind}" for kind in sorted(set(kinds)))
    first = clean(failed[0].get("error", kinds[0]))
    whole = len(failed) == sum(len(task["episodes"]) for task in results["tasks"])
    if whole and not allow_unscored:
        raise AgentGymError(f"nothing could be scored: {counts}; the first: {first}")
    stderr_console().print(
        f"unscored: {counts}; the first: {first}\ntry them again with:\n  {_resume_command(store)}",
        style="yellow",
        markup=False,
        soft_wrap=True,
    )
    if not allow_unscored:
        raise typer.Exit(UNSCORED)


def _resume_command(store: RunStore) -> str:
    from agentgym.eval.settings import read_settings
    from agentgym.eval.trust import words_that_name

    words = words_that_name(read_settings(store))
    return shlex.join(["agentgym", "eval", *words, "--out", str(store.folder), "--resume"])
