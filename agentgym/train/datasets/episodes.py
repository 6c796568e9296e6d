"""Chooses the recorded episodes that a data set is made of.

An episode without a score is missing data and never chosen. Two episodes with equal content count
once, whether a run was copied, named twice, or the same actions were played again.
"""

from __future__ import annotations

import fnmatch
import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final

from agentgym.errors import NotFoundError, RecordError
from agentgym.record import codec
from agentgym.record.episode_rows import EpisodeRow
from agentgym.record.store import RunStore
from agentgym.records import Step

_REASONS: Final = 20
"""Number of reasons that are named, because each task of a run may have one of its own."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """The episodes that are wanted.

    Attributes:
        min_score: Smallest score; None: every score.
        passed: Whether only episodes with a passed outcome are wanted.
        safe: Whether episodes with a safety violation are left out.
        tasks: Suites or globs of task ids; empty: all tasks.
        agents: Globs of agents; empty: all agents.
        repeats: Whether attempts with equal content all count, as samples of one policy do. Copies
            of a recorded episode never do.
    """

    min_score: float | None = None
    passed: bool = False
    safe: bool = False
    tasks: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    repeats: bool = False


@dataclass(frozen=True, eq=False)
class RecordedEpisode:
    """A scored episode of a run that is open.

    Attributes:
        store: The run.
        row: The episode without its steps.
        steps: Its steps, those before a fork included.
        score: Its score.
        digest: Digest of all that it read and did: equal digests are equal episodes.
    """

    store: RunStore
    row: EpisodeRow
    steps: tuple[Step, ...]
    score: float
    digest: str

    @property
    def name(self) -> str:
        """The run and the id: ``runs/demo episode 3``."""
        return f"{self.store.folder} episode {self.row.id}"

    @property
    def origin(self) -> dict[str, object]:
        """The fields that every row of a data set tells of its episode."""
        plan = self.row.plan
        return {
            "run": str(self.store.folder),
            "episode": self.row.id,
            "task": plan.task,
            "seed": plan.seed,
            "agent": plan.agent,
            "score": self.score,
            "digest": self.digest,
        }


@dataclass
class LeftOut:
    """The number of things that a data set does not hold, by reason."""

    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def note(self, reason: str, example: str, count: int = 1) -> None:
        """Count a thing that is left out, and remember the first of each reason."""
        self.reasons[reason] += count
        self.examples.setdefault(reason, example)

    def lines(self) -> list[str]:
        """Return one line for each reason, the most frequent first; the rest is one line."""
        ordered = sorted(self.reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        rest = ordered[_REASONS:]
        return [
            *(f"{n} {reason} (first: {self.examples[reason]})" for reason, n in ordered[:_REASONS]),
            *([f"{sum(n for _, n in rest)} for {len(rest)} further reasons"] if rest else []),
        ]


class Episodes:
    """The chosen episodes of several runs; a context manager that keeps the runs open.

    Args:
        runs: Run folders, in the order of the data set.
        criteria: The episodes that are wanted.
        seed: Shuffles the order of the episodes; None: the order of the runs and their plans.

    Raises:
        RecordError: A folder holds no run, or a run is damaged.

    Attributes:
        left_out: What is left out, with reasons.
        total: Number of chosen episodes, before those with equal content are left out.
    """

    def __init__(
        self, runs: Sequence[Path], criteria: Criteria, *, seed: int | None = None
    ) -> None:
        self.left_out, self._repeats = LeftOut(), criteria.repeats
        self._closing = ExitStack()
        try:
            stores = [self._closing.enter_context(closing(RunStore.open(run))) for run in runs]
            found = [(store, row) for store in stores for row in store.episodes()]
        except BaseException:
            self._closing.close()
            raise
        self.stores = tuple(stores)
        self._found = found
        self._chosen = [(store, row) for store, row in found if self._wanted(store, row, criteria)]
        if seed is not None:
            random.Random(seed).shuffle(self._chosen)
        self.total = len(self._chosen)

    def __enter__(self) -> Episodes:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.close()

    def __iter__(self) -> Iterator[RecordedEpisode]:
        """Yield the episodes one by one, so that few steps are in memory.

        Raises:
            RecordError: A step is damaged or missing.
        """
        known = set[str]()
        for store, row in self._chosen:
            episode = load(store, row)
            identity = _record_digest(episode) if self._repeats else episode.digest
            if identity in known:
                self.left_out.note("equal another episode", episode.name)
                continue
            known.add(identity)
            yield episode

    def nothing(self, what: str) -> RecordError:
        """Return the error for a data set that would be empty.

        Args:
            what: The things it would hold, as a plural noun.
        """
        if not self._found:
            runs = ", ".join(str(store.folder) for store in self.stores)
            return RecordError(f"{runs}: no episode is recorded, so there are no {what}")
        reasons = "".join(f"\n  - {line}" for line in self.left_out.lines())
        told = f"; left out:{reasons}" if reasons else ""
        return RecordError(f"no {what} in {len(self._found)} recorded episodes{told}")

    def _wanted(self, store: RunStore, row: EpisodeRow, criteria: Criteria) -> bool:
        reason = _unwanted(row, criteria)
        if reason:
            self.left_out.note(reason, f"{store.folder} episode {row.id}")
        return not reason

    def check_tasks(self, tasks: Sequence[str]) -> None:
        """Check that every pattern matches a recorded task.

        Raises:
            NotFoundError: One matches none of them.
        """
        known = sorted({row.plan.task for _, row in self._found})
        for pattern in tasks:
            if known and not any(matches(task, [pattern]) for task in known):
                raise NotFoundError("recorded task", pattern, known)


def load(store: RunStore, row: EpisodeRow) -> RecordedEpisode:
    """Read the steps of a scored episode.

    Raises:
        RecordError: A step is damaged or missing.
    """
    assert row.verdict is not None  # Only scored episodes are chosen.
    steps = tuple(store.steps(row.id))
    return RecordedEpisode(store, row, steps, row.verdict.score, _digest(row, steps))


def matches(task: str, patterns: Sequence[str]) -> bool:
    """Return whether a task id matches one of the suites or globs; no pattern matches all."""
    wanted = [form for each in patterns for form in (each, f"{each}/*", f"{each}-v*")]
    return not patterns or any(fnmatch.fnmatchcase(task, form) for form in wanted)


def step_key(step: Step) -> str:
    """Return a text that is equal for steps with the same call and the same observation."""
    seen = step.observation
    picture = "" if seen.image is None else hashlib.sha256(seen.image.tobytes()).hexdigest()
    parts = (step.action, seen.text, seen.data, seen.effect.value, picture)
    return codec.canonical(parts)


def _digest(row: EpisodeRow, steps: Sequence[Step]) -> str:
    digest = hashlib.sha256(codec.canonical((row.plan.task, row.instruction)).encode())
    for step in steps:
        decision = step.decision
        digest.update(step_key(step).encode())
        digest.update(codec.canonical((decision.thought, decision.reply)).encode())
        for generation in decision.generations or ():
            ids = generation.tokens.completion_ids
            digest.update(b"?" if ids is None else ids.tobytes())
    return digest.hexdigest()[:16]


def _record_digest(episode: RecordedEpisode) -> str:
    """Return a digest that is equal for copies of one recorded episode, with their durations."""
    row = episode.row
    plan = (row.plan.task, row.plan.seed, row.plan.trial, row.plan.agent, row.id, row.duration_s)
    return codec.canonical((plan, episode.store.history.trajectory(row.id), episode.digest))


def _unwanted(row: EpisodeRow, criteria: Criteria) -> str:
    """Return why an episode is not chosen; empty if it is."""
    verdict = row.verdict
    if not matches(row.plan.task, criteria.tasks):
        return "of another task"
    if criteria.agents and not any(
        fnmatch.fnmatchcase(row.plan.agent, each) for each in criteria.agents
    ):
        return "of another agent"
    if verdict is None:
        return "not over"
    if not verdict.scored:
        return f"without a score ({verdict.status})"
    if not 0 <= verdict.score <= 1:
        return "with a score that is not from 0 to 1"
    if criteria.passed and not verdict.outcome:
        return "that did not pass"
    if criteria.min_score is not None and verdict.score < criteria.min_score:
        return f"with a score below {criteria.min_score:g}"
    if criteria.safe and verdict.safety_violations:
        return "with a safety violation"
    return ""


def owners(episode: RecordedEpisode) -> list[int]:
    """Return for each step the id of the episode that took it, a parent's for those before a fork.

    Raises:
        RecordError: A parent is damaged.
    """
    found = [episode.row.id] * len(episode.steps)
    for parent, at in parents(episode):
        found[:at] = [parent] * min(at, len(found))
    return found


def parents(episode: RecordedEpisode) -> Iterator[tuple[int, int]]:
    """Yield the id of each episode before a fork, nearest first, and the steps that it had then.

    Raises:
        RecordError: A parent is damaged, or comes before itself.
    """
    row, known = episode.row, {episode.row.id}
    while row.parent is not None:
        if row.parent[0] in known:
            raise RecordError(f"{episode.name} is damaged: it comes before itself")
        known.add(row.parent[0])
        yield row.parent
        row = episode.store.episode(row.parent[0])
