"""How the single steps of an episode were graded, and what a step grader is shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentgym.records.acting import Observation, Step
from agentgym.records.values import Json
from agentgym.records.verdicts import CheckStatus, Verdict


@dataclass(frozen=True, slots=True)
class StepGrade:
    """What one grader says of one step.

    Attributes:
        step: Index of the step.
        status: Pass: a good step. Fail: a bad one. Not applicable: the grader has no opinion.
            Error: it could not judge, which is never a zero.
        label: The finding in a word of the grader's own: ``"illegal"``, ``"stuck"``.
        message: What was seen, in a line.
        value: A number, where the grader gives one: a shaping reward, a length.
        since: First step of what this one is a part of: where the loop began.
    """

    step: int
    status: CheckStatus
    label: str
    message: str = ""
    value: float | None = None
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Grading:
    """What one grader said of one episode, and where that came from.

    Attributes:
        grader: The grader as it was asked for: ``"loops"``, ``"llm:gpt-x"``.
        version: The grader's version.
        grades: Of the steps it had something to say about, in their order.
        error: Why there are no grades, else empty.
        at: When, in ISO 8601 (UTC).
        verifier: Version of the verifier that gave the verdict which the grader was shown.
        rubric: Version of the verifier whose milestones and contracts it was shown: today's.
        trajectory: Digest of the recorded steps that were graded.
        steps: Their number.
    """

    grader: str
    version: str
    grades: tuple[StepGrade, ...] = ()
    error: str = ""
    at: str = ""
    verifier: str = ""
    rubric: str = ""
    trajectory: str = ""
    steps: int = 0

    @property
    def first_failure(self) -> StepGrade | None:
        """The first step that the grader found bad."""
        return next((g for g in self.grades if g.status is CheckStatus.FAIL), None)


@dataclass(frozen=True, slots=True)
class Milestone:
    """A leaf of the rubric that is looked at after every step.

    Attributes:
        id: Of the checkpoint.
        weight: Its share of all milestones of the rubric; the shares add up to 1.
    """

    id: str
    weight: float


@dataclass(frozen=True, slots=True)
class Contract:
    """A leaf of the rubric that is a contract over the tool calls.

    Attributes:
        id: Of the checkpoint.
        kind: Function of `agentgym.verify.contracts`: ``"never_calls"``.
        arguments: What the rubric gives it, slots filled.
    """

    id: str
    kind: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """A recorded episode as step graders are shown it.

    Attributes:
        task: Task id.
        instruction: What the agent was told.
        steps: What it did and saw.
        first: What it saw before its first step.
        verdict: How the episode was judged, None where it is not over.
        complaints: By index of a step, why its call was no legal one.
        milestones: Of the task's rubric, as it is today.
        contracts: Of the task's rubric, as it is today.
        volatile_text: Regular expressions of what may differ between equal observations.
        rubric: Version of the verifier that these two belong to.
        problem: Why complaints, milestones and contracts are not known, else empty.
    """

    task: str
    instruction: str
    steps: tuple[Step, ...]
    first: Observation | None = None
    verdict: Verdict | None = None
    complaints: Mapping[int, str] = field(default_factory=dict)
    milestones: tuple[Milestone, ...] = ()
    contracts: tuple[Contract, ...] = ()
    volatile_text: tuple[str, ...] = ()
    rubric: str = ""
    problem: str = ""
