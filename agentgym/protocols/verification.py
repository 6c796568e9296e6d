"""Protocols of verification: evidence for checks, judges, and graders of single steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from agentgym.protocols.sandboxes import FileTree
from agentgym.records import (
    AuditEntry,
    Change,
    CheckResult,
    Connection,
    Criterion,
    ExecResult,
    Exhibit,
    Json,
    Judgement,
    PatchAttempt,
    PatchProblem,
    Process,
    RowChange,
    Step,
    StepGrade,
    TableSchema,
    Trajectory,
    WebRequest,
)


class Room(Protocol):
    """A clean room: the pristine task snapshot plus declared artifacts, no network.

    Commands run with a fixed environment and PATH; it holds nothing else that the agent wrote.
    """

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/root",
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
    ) -> ExecResult:
        """Run a command to its end."""
        ...

    def read(self, path: str) -> bytes:
        """Return a file of the room. Raises GuestFileError."""
        ...

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Put a file of the grader into the room."""
        ...


class Tables(Protocol):
    """The rows of services at one moment, for reading."""

    def rows(self, table: str, **where: Json) -> list[dict[str, Json]]:
        """Return the rows of a table or view whose columns have these values.

        They are sorted by the primary key of a table, or else by all columns of a view.

        Raises:
            VerifierError: The table or column does not exist.
        """
        ...

    def one(self, table: str, **where: Json) -> dict[str, Json] | None:
        """Return the only matching row; None if no row matches.

        Raises:
            VerifierError: Several rows match, or the table or column does not exist.
        """
        ...

    def names(self) -> Sequence[str]:
        """Return the names of the tables, without the views over them."""
        ...

    def columns(self, table: str) -> Sequence[str]:
        """Return the names of the columns of a table or view.

        Raises:
            VerifierError: The table or view does not exist.
        """
        ...

    def schema(self, table: str) -> TableSchema:
        """Return what the services say about a table or view.

        Raises:
            VerifierError: The table or view does not exist.
        """
        ...

    def at(self, table: str, rowid: int) -> dict[str, Json] | None:
        """Return the row with a rowid, as `RowRef` names it; None if it does not exist.

        Raises:
            VerifierError: The table does not exist.
        """
        ...


class Judge(Protocol):
    """A model that decides one criterion at a time: a cached, schema-validated call.

    The content of an exhibit is data to it and never an instruction. It is called on a thread
    without an event loop.

    Attributes:
        name: Name of the model.
        grading_s: Seconds that it may take for one criterion, beside the time of grading.
    """

    name: str
    grading_s: float

    def decide(
        self,
        criterion: Criterion,
        exhibits: Sequence[Exhibit],
        *,
        votes: int = 1,
        top_k: int = 5,
        timeout_s: float | None = None,
    ) -> Judgement:
        """Decide a criterion.

        Args:
            criterion: The question to decide.
            exhibits: Evidence for the judge, ids unique.
            votes: Number of answers to ask for; the majority counts.
            top_k: Number of screenshots to show: those most relevant to the criterion.
            timeout_s: Longest time for all votes, in seconds.

        Raises:
            VerifierError: The judge gave no usable answer; the criterion is then undecided.
        """
        ...


class Evidence(Protocol):
    """All evidence for a check, in separate channels.

    Trace: `steps`, `answer`, `gave_up` (the reason given to `give_up`; its category and subject
    are those of `agentgym.verify.giving_up.given_up`). State: `before`, `after` and `changes` of
    the files; `tables_before`, `tables_after` and `row_changes` of the services; `page_state`, the
    values that the environment reads from the page in the browser (docs/browser.md). Audit:
    `processes`, listed by the supervisor when the episode ended, `connections`, noted by the proxy,
    `killed_for_memory`, counted by the kernel (None if it is not counted), `calls`, written
    by the services for all actors, and `requests`, noted by the browser's proxy. If the environment
    has no services, reading their channels raises a VerifierError.
    The result of a check names the channels that it read.
    """

    task: str
    seed: int
    params: Mapping[str, Json]
    steps: Sequence[Step]
    answer: str | None
    gave_up: str | None
    before: FileTree
    after: FileTree
    changes: Sequence[Change]
    processes: Sequence[Process]
    connections: Sequence[Connection]
    killed_for_memory: int | None
    requests: Sequence[WebRequest]
    page_state: Mapping[str, Json]
    tables_before: Tables
    tables_after: Tables
    row_changes: Sequence[RowChange]
    calls: Sequence[AuditEntry]

    def gold(self, name: str) -> bytes:
        """Return a gold file that the setup left on the host. Raises VerifierError."""
        ...

    def room(self, artifacts: Sequence[str] = (), *, shared: bool = False) -> Room:
        """Open a clean room holding the named artifacts (guest files or folders).

        Every call opens a fresh one, because a program of the agent may have altered a used room;
        all are closed after grading.

        Args:
            artifacts: Guest files or folders.
            shared: For checks of one rubric that examine the same thing. As long as a check
                repeats what another one has done in such a room from its start on, with the same
                artifacts, it gets the same answers and nothing runs again. When it does something
                else, it gets a fresh room in which the steps before are repeated.
        """
        ...

    def judge(
        self,
        criterion: str | Criterion,
        show: Sequence[str | Mapping[str, Json]] = ("steps", "answer", "changes"),
        *,
        votes: int = 1,
        top_k: int = 5,
    ) -> Judgement:
        """Ask the judge about one criterion.

        Args:
            criterion: What must hold; a text stands for a question with the answers yes and no.
            show: Exhibits for the judge: ``steps``, ``answer``, ``changes``, ``screenshots``,
                ``messages``, ``files:GLOB``, text files of the end state, and sources of messages.
            votes: Number of answers to ask for.
            top_k: Number of screenshots to show.

        Raises:
            VerifierError: No judge is set, or it gave no usable answer.
        """
        ...


Check: TypeAlias = Callable[..., CheckResult | bool]
"""Called as ``check(evidence, **arguments of the rubric)``; a bool means pass or fail."""


class StepGrader(Protocol):
    """Grades the steps of a recorded episode. Entry points: `agentgym.step_graders`.

    Its grades depend on the trajectory alone; only a grader that asks a model may give other
    grades when it is asked again.

    Attributes:
        name: Name of the entry point.
        version: Changes whenever the same trajectory may get other grades, arguments included.
    """

    name: str
    version: str

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Grade the steps on which it has an opinion, in their order, each once.

        Raises:
            VerifierError: It cannot grade this trajectory at all.
        """
        ...


StepGraderFactory: TypeAlias = Callable[[str], StepGrader]
"""Creates a grader from the text after its name: ``llm:gpt-x`` calls ``factory("gpt-x")``."""


class PatchScorer(Protocol):
    """Scores patches of one issue without executing them. Entry points: `agentgym.patch_scorers`.

    Scores order the attempts at one issue, the best one first; those of different issues need not
    be comparable. Only a scorer that asks a model may give other scores when it is asked again.

    Attributes:
        name: Name of the entry point.
        version: Changes whenever the same patches may get other scores, arguments included.
    """

    name: str
    version: str

    async def score(
        self, problem: PatchProblem, attempts: Sequence[PatchAttempt]
    ) -> Sequence[float]:
        """Return a finite score for each attempt, in their order.

        Raises:
            VerifierError: It cannot score these attempts at all.
        """
        ...


PatchScorerFactory: TypeAlias = Callable[[str], PatchScorer]
"""Creates a scorer from the text after its name: ``llm:gpt-x`` calls ``factory("gpt-x")``."""
