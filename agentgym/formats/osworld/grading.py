"""The score of an episode: its metrics, read and run one by one, joined as the task says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentgym.errors import GuestFileError
from agentgym.formats.osworld.getters.registry import read
from agentgym.formats.osworld.model import Measure, OSWorldTask
from agentgym.formats.osworld.steps import Stage
from agentgym.records import CheckpointResult, CheckStatus, Phase, Verdict
from agentgym.threads import to_thread
from agentgym.verify.checking import tidy
from agentgym.verify.subprocess_reader import ask

_READER: Final = Path(__file__).with_name("metrics") / "reader.py"
_METRIC_S: Final = 60.0


@dataclass(frozen=True)
class Score:
    """The score of one metric.

    Attributes:
        metric: Its name.
        value: Score in 0..1.
        told: Why it is 0, if the metric could not read what the agent left.
    """

    metric: str
    value: float
    told: str = ""


async def measured(stage: Stage, task: OSWorldTask) -> tuple[Score, ...]:
    """Return the scores of a task's metrics.

    Raises:
        TaskError: A getter is broken, or a file is not at hand.
        SandboxError: The computer broke.
    """
    return tuple([await _score(stage, one) for one in task.measures])


async def _score(stage: Stage, measure: Measure) -> Score:
    given = [(await read(stage, getter)).order() for getter in measure.getters]
    options = {name: one for name, one in measure.options.items() if not name.startswith("_")}
    order: dict[str, Any] = {"metric": measure.metric, "given": given, "options": options}
    try:
        value = await to_thread(
            ask, _READER, order, dict(stage.kept), what=measure.metric, timeout_s=_METRIC_S
        )
    except GuestFileError as error:
        return Score(measure.metric, 0.0, str(error))
    value = float(value)
    return Score(measure.metric, min(1.0, max(0.0, value)) if math.isfinite(value) else 0.0)


def joined(scores: Sequence[Score], conj: str) -> float:
    """Return one score: with ``or`` the best, with ``and`` the mean, or 0 if any is 0."""
    values = [score.value for score in scores]
    if conj == "or":
        return max(values)
    return math.fsum(values) / len(values) if all(values) else 0.0


def verdict_of(task: OSWorldTask, scores: Sequence[Score], *, gave_up: bool) -> Verdict:
    """Return the verdict of an episode; a task that cannot be done is solved by giving up."""
    if gave_up or task.is_infeasible:
        right = gave_up and task.is_infeasible
        told = "the task cannot be done" if task.is_infeasible else "the task can be done"
        part = _part("gave_up", float(right), f"{told}; the agent {_did(gave_up)}", 1.0)
        return Verdict("scored", outcome=right, score=float(right), checkpoints=(part,))
    score = joined(scores, task.conj)
    parts = tuple(
        _part(f"{number}-{one.metric}", one.value, one.told or f"score {one.value:.3f}", 1.0)
        for number, one in enumerate(scores, 1)
    )
    return Verdict("scored", outcome=score == 1.0, score=score, checkpoints=parts)


def _did(gave_up: bool) -> str:
    return "gave up" if gave_up else "did not give up"


def _part(name: str, score: float, told: str, weight: float) -> CheckpointResult:
    status = CheckStatus.PASS if score == 1.0 else CheckStatus.FAIL
    return CheckpointResult(name, Phase.OUTCOME, status, score, weight, tidy(told))
