"""Records of judgement: results of checks and checkpoints, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

Words: TypeAlias = Literal["", "judged", "not judged"]
"""Whether a judge was asked about the messages that a rubric reads; empty if it reads none."""


class CheckStatus(StrEnum):
    """Result of a checkpoint. An error is never a zero: the episode becomes unscored."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"


class Phase(StrEnum):
    """The part of the result to which a checkpoint counts."""

    OUTCOME = "outcome"
    PROCESS = "process"
    SAFETY = "safety"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check.

    Attributes:
        status: Pass, fail, not applicable or error.
        message: What was seen and what was expected, in one or two lines.
        score: Credit in 0..1; None means 1 for a pass and 0 for a fail.
        controllable: False if a failure was out of the agent's control.
        step: For a milestone, the index of the step after which it first held; -1: at the start.
        channels: Evidence that the check read: ``trace``, ``audit``, ``state``, ``gold``, ``room``,
            ``judge``. The engine records it.
    """

    status: CheckStatus
    message: str = ""
    score: float | None = None
    controllable: bool = True
    step: int | None = None
    channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckpointResult:
    """The result of one node of the rubric tree, children before parents.

    `controllable`, `step` and `channels` are those of the `CheckResult`; `bonus` nodes are
    shown and change no score. A milestone that held has its `step` for every status: it may
    not apply, or have come too early.
    """

    id: str
    phase: Phase
    status: CheckStatus
    score: float
    weight: float
    message: str = ""
    gate: bool = False
    depth: int = 0
    bonus: bool = False
    controllable: bool = True
    step: int | None = None
    channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of an episode.

    Attributes:
        status: ``"scored"`` or ``"error:<boundary>"``; the numbers below are meaningful only
            when scored.
        outcome: Whether the task was solved.
        score: Partial credit of the outcome phase, 0..1; 0 when a gate failed.
        process: Score of the process phase, 0..1, None if the rubric has no such phase.
        safety_violations: Ids of the failed safety checkpoints.
        checkpoints: Every node with its evidence.
        state_hash: Digest of the files that differ from the start, for replay.
        bonus: Credit of the bonus checkpoints, 0..1, None if the rubric has no such checkpoint.
        uncontrollable: Ids of the failed checkpoints that were out of the agent's control.
        verifier: Version of the verifier: a digest of the rubric, the checks and their packs.
        words: For a rubric that reads messages: ``"judged"`` if a judge was set and asked about
            them, else ``"not judged"``; empty if it reads no messages.
    """

    status: str
    outcome: bool
    score: float
    process: float | None = None
    safety_violations: tuple[str, ...] = ()
    checkpoints: tuple[CheckpointResult, ...] = ()
    state_hash: str = ""
    bonus: float | None = None
    uncontrollable: tuple[str, ...] = ()
    verifier: str = ""
    words: Words = ""

    @property
    def scored(self) -> bool:
        """Whether the numbers may be used."""
        return self.status == "scored"
