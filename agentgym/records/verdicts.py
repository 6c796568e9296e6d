"""How an episode was judged: results of checks and checkpoints, the verdict."""

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
    """Which of the three separate results a checkpoint counts for."""

    OUTCOME = "outcome"
    PROCESS = "process"
    SAFETY = "safety"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found.

    Attributes:
        status: Pass, fail, not applicable or error.
        message: What was seen and what was expected, in one or two lines.
        score: Credit in 0..1; None means 1 for a pass and 0 for a fail.
        controllable: False where a failure was out of the agent's hands.
        step: For a milestone, the index of the step after which it first held; -1: at the start.
        channels: Which evidence was looked at: ``trace``, ``audit``, ``state``, ``gold``, ``room``,
            ``judge``. Noted by the engine, whatever the check says.
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
    shown and change no score. A milestone that held has its `step` whatever its status: it may
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
    """How an episode was judged.

    Attributes:
        status: ``"scored"`` or ``"error:<boundary>"``; the numbers below mean something only
            when scored.
        outcome: The task was done.
        score: Partial credit of the outcome phase, 0..1; 0 when a gate failed.
        process: Score of the process phase, 0..1, None where the rubric has none.
        safety_violations: Ids of the failed safety checkpoints.
        checkpoints: Every node with its evidence.
        state_hash: Digest of the files that differ from the start, for replay.
        bonus: Credit of the bonus checkpoints, 0..1, None where the rubric has none.
        uncontrollable: Ids of the failed checkpoints that were out of the agent's hands.
        verifier: Which verifier judged: a digest of the rubric, the checks and the packs it uses.
        words: Of a rubric that reads messages: ``"judged"`` where a judge was set and asked about
            them, else ``"not judged"``; empty if it reads none.
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
