"""`agentgym.evaluate`: runs agents on tasks from Python, and returns the scores as records.

It uses the same plan, record and files as `agentgym eval`. It works with a running event loop, as
in a notebook, and without one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym.agents import registry
from agentgym.agents.loading import Source, source_of
from agentgym.agents.own import OwnAgent
from agentgym.errors import ConfigError
from agentgym.eval.clean_console import CleanConsole
from agentgym.eval.evaluate import evaluate as run_episodes
from agentgym.eval.plan import holds_run, resume_run, start_run
from agentgym.eval.progress import LineProgress, Progress, make_progress
from agentgym.eval.report import write_report
from agentgym.eval.requirements import build_images, used_fallbacks
from agentgym.eval.results import build_results, write_results
from agentgym.eval.settings import read_settings
from agentgym.protocols import Agent
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import TokenUsage
from agentgym.threads import to_thread

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class EpisodeScore:
    """The result of one episode.

    Attributes:
        id: Id of the episode in the run, for ``agentgym replay``.
        task: Id of the task.
        agent: Spec of the agent.
        seed: Seed of the episode.
        trial: Number of the trial, counted from 0.
        status: ``"scored"`` or ``"error:<boundary>"``.
        outcome: Whether the task was solved, None if it has no score.
        score: 0..1, None if it has no score.
        safety_violations: Ids of failed safety checkpoints.
        steps: Steps taken.
        usage: Tokens of all steps, and of replies that ended the episode without one.
        duration_s: Wall time in seconds.
        error: Reason why it has no score, or how the policy failed; else empty.
    """

    id: int
    task: str
    agent: str
    seed: int
    trial: int
    status: str
    outcome: bool | None
    score: float | None
    safety_violations: tuple[str, ...]
    steps: int
    usage: TokenUsage
    duration_s: float
    error: str


@dataclass(frozen=True, slots=True)
class AgentScores:
    """The numbers of one agent; docs/architecture.md defines them.

    Attributes:
        agent: Spec of the agent.
        episodes: Number of planned episodes.
        scored: Number of episodes that have a score.
        errors: Number of episodes without a score, by status.
        policy_failures: Number of scored episodes that ended because the policy failed.
        words_not_judged: Number of scored episodes whose messages no judge has read.
        mean_score: Mean over the scored episodes, None if no episode was scored.
        mean_score_ci95: 95% interval of `mean_score`, None if it cannot be estimated.
        mean_score_bounds: The mean if all missing episodes scored 0, and if all scored 1.
        pass_at_1: Unbiased estimate, None if no episode was scored.
        pass_at_k: Unbiased estimate for k trials.
        pass_hat_k: Chance that all of k trials pass.
        k: Trials of every task.
        usage_total: Tokens of all episodes.
    """

    agent: str
    episodes: int
    scored: int
    errors: Mapping[str, int]
    policy_failures: int
    words_not_judged: int
    mean_score: float | None
    mean_score_ci95: Interval | None
    mean_score_bounds: Interval
    pass_at_1: float | None
    pass_at_k: float | None
    pass_hat_k: float | None
    k: int
    usage_total: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Result of `evaluate`.

    Attributes:
        folder: The run folder, with ``results.json``, ``report.html`` and the record.
        agents: Scores of each agent, best first.
        episodes: Every episode that is over, in the order of the plan.
    """

    folder: Path
    agents: tuple[AgentScores, ...]
    episodes: tuple[EpisodeScore, ...]

    @property
    def scores(self) -> AgentScores:
        """Scores of the only agent.

        Raises:
            ConfigError: The run has several agents.
        """
        if len(self.agents) != 1:
            names = ", ".join(agent.agent for agent in self.agents)
            raise ConfigError(f"there are {len(self.agents)} agents: {names}; see .agents")
        return self.agents[0]

    @property
    def mean_score(self) -> float | None:
        """Mean score of the only agent, None if no episode was scored."""
        return self.scores.mean_score


def evaluate(
    tasks: str | Sequence[str],
    agent: str | Callable[..., object] | Sequence[str | Callable[..., object]],
    *,
    trials: int = 1,
    seed: int = 0,
    jobs: int | None = None,
    sandbox: str = "bubblewrap",
    max_steps: int | None = None,
    timeout_s: float | None = None,
    judge: str = "",
    user: str = "",
    surfaces: Sequence[str] = (),
    step_tests: bool = False,
    offline: bool = False,
    group: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: bool = False,
) -> Evaluation:
    """Run one or several agents on tasks, and return their scores.

    Episodes without a score raise nothing: `AgentScores.errors` counts them, and
    `mean_score_bounds` bounds their influence.

    Args:
        tasks: Suites, task ids, globs or paths of task folders.
        agent: A spec such as ``"openai:MODEL"`` or ``"./my_agent.py:MyAgent"``, or a class (or a
            function) that creates an agent for each episode; or several of them.
        trials: Episodes of every task.
        seed: Seed of the first trial.
        jobs: Number of concurrent episodes; None for the number of processors.
        sandbox: Sandbox provider.
        max_steps: Largest number of steps in an episode; None for the task's own.
        timeout_s: Seconds for an episode; None for the task's own.
        judge: Spec of the judge for checks that need one.
        user: Spec of the simulated user of tasks that have one.
        surfaces: Surfaces that agents act through, instead of those of the environments.
        step_tests: Score each step that changes a repository by the task's hidden tests.
        offline: Give sandboxes no network, whatever a task allows.
        group: Group of the episodes in the record; ``{task}``, ``{seed}``, ``{trial}`` and
            ``{agent}`` in it stand for those of each episode. None: they are in no group.
        metadata: A JSON object in the record of every episode.
        out: The run folder; None for ``runs/TIME-SUITE``.
        resume: Resume the run in `out`, and retry its episodes without a score.
        progress: Show the progress on stderr.

    Raises:
        ConfigError: The run cannot start; the message names every problem.
        AgentGymError: The run cannot be recorded, or holds another run.
    """
    sources = _by_spec(agent)
    patterns = (tasks,) if isinstance(tasks, str) else tuple(tasks)
    asked = _settings(patterns=patterns, agents=tuple(sources), trials=trials, seed=seed)
    asked |= _settings(sandbox=sandbox, jobs=jobs, max_steps=max_steps, timeout_s=timeout_s)
    asked |= _settings(judge=judge or None, user=user or None, offline=offline or None)
    asked |= _settings(group=group, metadata=metadata, surfaces=tuple(surfaces) or None)
    asked |= _settings(step_tests=step_tests or None)
    if resume and out is None:
        raise ConfigError("resume needs the folder of the run; give out=")
    folder = new_folder(patterns) if out is None else Path(out)
    run = _Run(folder, asked, _creator(sources), resume=resume, progress=progress)
    return run.wherever_this_is()


def _settings(**given: object) -> dict[str, Any]:
    """Return the settings that are given; a run takes the defaults for the others."""
    return {name: value for name, value in given.items() if value is not None}


def _by_spec(
    agent: str | Callable[..., object] | Sequence[str | Callable[..., object]],
) -> dict[str, str | Callable[..., object]]:
    """Return one or several agents by their specs."""
    several = isinstance(agent, Sequence) and not isinstance(agent, str)
    given: list[Any] = list(agent) if several else [agent]  # type: ignore[arg-type]
    return {_name_of(one): one for one in given}


def new_folder(patterns: Sequence[str]) -> Path:
    """Return the default folder of a run: ``runs/TIME-SUITE``."""
    suite = patterns[0].split("/")[0] if patterns else ""
    name = "".join(c for c in suite if c.isalnum() or c in "-_") or "tasks"
    return Path("runs", f"{time.strftime('%Y%m%d-%H%M%S')}-{name}")


def read_evaluation(store: RunStore, results: Mapping[str, Any]) -> Evaluation:
    """Return the scores of a run as records.

    Args:
        store: The run.
        results: Result of `build_results` for the run.

    Raises:
        RecordError: The record is damaged.
    """
    rows = [row for row in store.episodes() if row.parent is None and row.verdict is not None]
    return Evaluation(
        folder=store.folder,
        agents=tuple(_scores(name, row) for name, row in results["summary"].items()),
        episodes=tuple(map(_episode, rows)),
    )


class _Run:
    """One evaluation, in a thread of its own if the caller's thread has a running loop."""

    def __init__(
        self,
        folder: Path,
        asked: Mapping[str, Any],
        create: Callable[[str], Agent],
        *,
        resume: bool,
        progress: bool,
    ) -> None:
        self._folder, self._asked, self._create = folder, asked, create
        self._resume, self._progress = resume, progress
        self._running: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    def wherever_this_is(self) -> Evaluation:
        """Run, whether or not this thread has a running event loop."""
        if not _is_loop_running():
            return self._run()
        outcome: list[Evaluation | BaseException] = []

        def work() -> None:
            try:
                outcome.append(self._run())
            except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
                outcome.append(error)

        thread = threading.Thread(target=work, name="agentgym.evaluate")
        thread.start()
        try:
            thread.join()
        except KeyboardInterrupt:
            if self._running is not None:
                loop, task = self._running
                loop.call_soon_threadsafe(task.cancel)
            thread.join()
            raise
        (result,) = outcome
        if isinstance(result, BaseException):
            raise result
        return result

    def _run(self) -> Evaluation:
        begin = resume_run if self._resume and holds_run(self._folder) else start_run
        store = begin(self._folder, self._asked, self._create)
        try:
            asyncio.run(self._play(store))
            results = build_results(store)
            write_results(results, store.folder / "results.json")
            write_report(store, store.folder / "report.html")
            return read_evaluation(store, results)
        finally:
            store.close()

    async def _play(self, store: RunStore) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running = asyncio.get_running_loop(), task
        console = CleanConsole(stderr=True, quiet=not self._progress, highlight=False)
        settings = read_settings(store)

        def build() -> dict[str, str]:
            return build_images(
                settings.tasks, lambda line: console.print(line, markup=False, soft_wrap=True)
            )

        unrunnable = await to_thread(build)
        store.amend("image_fallbacks", used_fallbacks(settings.tasks))
        shown: Progress = make_progress(console) if self._progress else LineProgress(console)
        await run_episodes(
            store, settings, progress=shown, unrunnable=unrunnable, create=self._create
        )


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _name_of(agent: str | Callable[..., object]) -> str:
    """Return the spec of a class, with which it can be found again if it is importable."""
    if isinstance(agent, str):
        return agent
    name = getattr(agent, "__qualname__", "") or type(agent).__name__
    return f"python:{getattr(agent, '__module__', '') or '?'}:{name}"


def _creator(agents: Mapping[str, str | Callable[..., object]]) -> Callable[[str], Agent]:
    """Return the function that creates a run's agents; classes need not be importable."""
    sources: dict[str, Source] = {
        spec: source_of(given, spec) for spec, given in agents.items() if not isinstance(given, str)
    }

    def create(spec: str) -> Agent:
        return OwnAgent(sources[spec]) if spec in sources else registry.create(spec)

    return create


def _scores(agent: str, row: Mapping[str, Any]) -> AgentScores:
    interval, bounds = row["mean_score_ci95"], row["mean_score_bounds"]
    return AgentScores(
        agent=agent,
        episodes=row["episodes"] + row["unfinished"],
        scored=row["scored"],
        errors=dict(row["errors_by_status"]),
        policy_failures=row["policy_failures"],
        words_not_judged=row["words_not_judged"],
        mean_score=row["mean_score"],
        mean_score_ci95=None if interval is None else (interval[0], interval[1]),
        mean_score_bounds=(bounds[0], bounds[1]),
        pass_at_1=row["pass@1"],
        pass_at_k=row["pass@k"],
        pass_hat_k=row["pass^k"],
        k=row["k"],
        usage_total=row["tokens"]["total"],
    )


def _episode(row: EpisodeRow) -> EpisodeScore:
    verdict = row.verdict
    assert verdict is not None, "only episodes that are over get here"
    return EpisodeScore(
        id=row.id,
        task=row.plan.task,
        agent=row.plan.agent,
        seed=row.plan.seed,
        trial=row.plan.trial,
        status=verdict.status,
        outcome=verdict.outcome if verdict.scored else None,
        score=verdict.score if verdict.scored else None,
        safety_violations=verdict.safety_violations,
        steps=row.steps,
        usage=row.usage,
        duration_s=row.duration_s,
        error=row.error,
    )
