"""Records of step grading: grades of single steps, and the trajectory that a grader gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentgym.records.acting import Observation, Step
from agentgym.records.values import Json
from agentgym.records.verdicts import CheckStatus, Verdict


@dataclass(frozen=True, slots=True)
class StepGrade:
    """One grader's opinion on one step.

    Attributes:
        step: Index of the step.
        status: Pass: a good step. Fail: a bad one. Not applicable: the grader has no opinion.
            Error: it could not judge, which is never a zero.
        label: The finding in one word of the grader: ``"illegal"``, ``"stuck"``.
        message: One line on what was seen.
        value: A number, if the grader gives one: a shaping reward, a length.
        since: First step of a pattern that this step is part of, such as a loop.
        measures: Measures of the episode so far by name; None for one that is undefined. A grader
            states them with at most one step.
    """

    step: int
    status: CheckStatus
    label: str
    message: str = ""
    value: float | None = None
    since: int | None = None
    measures: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grading:
    """One grader's result for one episode, and its origin.

    Attributes:
        grader: Spec of the grader: ``"loops"``, ``"llm:gpt-x"``.
        version: Version of the grader.
        grades: Grades of the steps on which it had an opinion, in their order.
        error: Reason why there are no grades, else empty.
        at: Time of the grading, in ISO 8601 (UTC).
        verifier: Version of the verifier that gave the verdict in the grader's input.
        rubric: Version of the current verifier, whose milestones and contracts the grader got.
        trajectory: Digest of the graded steps.
        steps: Number of the graded steps.
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
        """First step that the grader found bad."""
        return next((g for g in self.grades if g.status is CheckStatus.FAIL), None)

    @property
    def measured(self) -> StepGrade | None:
        """The grade that states the measures of the episode."""
        return next((g for g in self.grades if g.measures), None)


@dataclass(frozen=True, slots=True)
class Milestone:
    """A leaf of the rubric that is checked after every step.

    Attributes:
        id: Id of the checkpoint.
        weight: Its share of all milestones of the rubric; the shares add up to 1.
    """

    id: str
    weight: float


@dataclass(frozen=True, slots=True)
class Contract:
    """A leaf of the rubric that is a contract over the tool calls.

    Attributes:
        id: Id of the checkpoint.
        kind: Function of `agentgym.verify.contracts`: ``"never_calls"``.
        arguments: Arguments from the rubric, with slots filled.
    """

    id: str
    kind: str
    arguments: Mapping[str, Json]


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """The gold patch of a task that is about a repository.

    Attributes:
        root: The repository, an absolute guest path.
        before: Text by path of the repository's files, without those that are no UTF-8 text.
        after: Text by path of the files that the gold patch changes; None for a removed file.
    """

    root: str
    before: Mapping[str, str]
    after: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """A recorded episode in the form that step graders get.

    Attributes:
        task: Task id.
        instruction: Instruction of the agent.
        steps: Actions and observations.
        first: Observation before the first step.
        verdict: Verdict of the episode, None if it is not over.
        complaints: By index of a step, the reason why its call was not legal.
        milestones: Milestones of the task's current rubric.
        contracts: Contracts of the task's current rubric.
        volatile_text: Regular expressions of text that may differ between equal observations.
        rubric: Version of the verifier of these milestones and contracts.
        problem: Reason why complaints, milestones and contracts are unknown, else empty.
        repair: What the task's solution changes; None if the task is about no repository.
        repair_problem: Reason why that is unknown, else empty.
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
    repair: Repair | None = None
    repair_problem: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PatchAttempt:
    """One attempt at an issue, for a scorer that executes nothing.

    Attributes:
        diff: The patch, a unified diff in Git's format; empty if nothing was changed.
        after: Text by path of the changed files that are UTF-8 text; None for a removed file.
        resolved: Whether the hidden tests accept it. Only a scorer with ``privileged = True`` gets
            this; for any other it is None.
    """

    diff: str
    after: Mapping[str, str | None]
    resolved: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PatchProblem:
    """An issue and the repository that it is about, for a scorer that executes nothing.

    Attributes:
        task: Task id.
        issue: Instruction of the agent.
        before: Text by path of the repository's files.
    """

    task: str
    issue: str
    before: Mapping[str, str]
