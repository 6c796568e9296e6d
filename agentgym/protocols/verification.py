"""What checks look at, who judges for them, and who grades single steps."""

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
    Process,
    RowChange,
    Step,
    StepGrade,
    Trajectory,
)


class Room(Protocol):
    """A clean room: the pristine task snapshot plus declared artifacts, no network.

    Commands run with a fixed environment and PATH; nothing else the agent wrote is present.
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
        """Put a file of the grader's own into the room."""
        ...


class Tables(Protocol):
    """The rows of services at one moment, for reading."""

    def rows(self, table: str, **where: Json) -> list[dict[str, Json]]:
        """Return the rows of a table or view whose columns have these values.

        They are sorted by the primary key of a table, or else by all columns of a view.

        Raises:
            VerifierError: There is no such table or column.
        """
        ...

    def one(self, table: str, **where: Json) -> dict[str, Json] | None:
        """Return the only such row, None where there is none.

        Raises:
            VerifierError: There are several, or no such table or column.
        """
        ...

    def names(self) -> Sequence[str]:
        """Return the names of the tables, without the views over them."""
        ...

    def columns(self, table: str) -> Sequence[str]:
        """Return the names of the columns of a table or view.

        Raises:
            VerifierError: There is no such table or view.
        """
        ...


class Judge(Protocol):
    """A model that decides one criterion at a time: a cached, schema-validated call.

    What is in an exhibit is data to it, whatever it says. Called on a thread without a loop.

    Attributes:
        name: Of the model.
        grading_s: Seconds by which the deadline of grading is longer with it.
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
            criterion: What is asked.
            exhibits: What may be looked at, ids unique.
            votes: How many answers are had; the majority counts.
            top_k: Of the screenshots, how many are shown: those most relevant to the criterion.
            timeout_s: Seconds it may take in all.

        Raises:
            VerifierError: No usable answer could be had; the criterion is then undecided.
        """
        ...


class Evidence(Protocol):
    """Everything a check may look at. The channels are kept apart.

    Trace: `steps`, `answer`, `gave_up`. State: `before`, `after` and `changes` of the files;
    `tables_before`, `tables_after` and `row_changes` of the services. Audit: `processes`,
    listed by the supervisor when the episode ended, `connections`, noted by the proxy,
    `killed_for_memory`, counted by the kernel (None where nobody counts), and `calls`, written
    by the services, whoever called. Where the environment has no services, asking for what is
    theirs is a VerifierError.
    Which of them a check looked at is noted in its result.
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
    tables_before: Tables
    tables_after: Tables
    row_changes: Sequence[RowChange]
    calls: Sequence[AuditEntry]

    def gold(self, name: str) -> bytes:
        """Return a gold file the setup left on the host. Raises VerifierError."""
        ...

    def room(self, artifacts: Sequence[str] = (), *, shared: bool = False) -> Room:
        """Open a clean room holding the named artifacts (guest files or folders).

        Every call opens a fresh one, for a room that has run the agent's program may have been
        altered by it; all are closed after grading.

        Args:
            artifacts: Guest files or folders.
            shared: For checks of one rubric that look at the same thing. As long as a check does
                what another one has done in such a room from its start on, with the same
                artifacts, it gets the same answers and nothing runs again; when it does something
                else, it gets a fresh room in which everything up to there is done again.
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
            criterion: What must hold; text stands for a question of yes and no.
            show: What the judge sees: ``steps``, ``answer``, ``changes``, ``screenshots``,
                ``messages``, ``files:GLOB``, text files of the end state, and sources of messages.
            votes: How many answers are had.
            top_k: How many screenshots are shown.

        Raises:
            VerifierError: No judge is set, or it gave no usable answer.
        """
        ...


Check: TypeAlias = Callable[..., CheckResult | bool]
"""Called as ``check(evidence, **arguments from the rubric)``; a bool is pass or fail."""


class StepGrader(Protocol):
    """Grades the steps of a recorded episode. Offered by the entry points `agentgym.step_graders`.

    What it says depends on the trajectory and on nothing else; only a grader that asks a model
    may say something else when it is asked again.

    Attributes:
        name: That of the entry point.
        version: Changes whenever the same trajectory may get other grades, arguments included.
    """

    name: str
    version: str

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Grade the steps it has something to say about, in their order, each once.

        Raises:
            VerifierError: It cannot grade this trajectory at all.
        """
        ...


StepGraderFactory: TypeAlias = Callable[[str], StepGrader]
"""Makes a grader from what follows its name: ``llm:gpt-x`` calls ``factory("gpt-x")``."""
