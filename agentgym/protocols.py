"""Every seam of agentgym on one page: structural protocols, no inheritance demanded.

The engine is asynchronous; only what a task author writes (checks, and the file trees they
read) is synchronous. Each protocol has a contract suite in `agentgym.testing` that any
implementation, ours or not, can be run against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Protocol, TypeAlias, runtime_checkable

from agentgym.records import (
    Action,
    Actor,
    Audit,
    AuditEntry,
    Briefing,
    Capability,
    Change,
    CheckResult,
    Connection,
    Criterion,
    Decision,
    ExecResult,
    Exhibit,
    FileStat,
    Fittings,
    Json,
    Judgement,
    Observation,
    Problem,
    Process,
    Recipe,
    Reply,
    RowChange,
    ShellResult,
    Snapshot,
    Step,
    StepGrade,
    ToolSpec,
    Trajectory,
    Usage,
    UserTurn,
    Verdict,
)

# --- sandboxes -----------------------------------------------------------------------------


class Shell(Protocol):
    """A persistent `bash` session: what one command sets, the next one sees."""

    @property
    def cwd(self) -> str:
        """Where it is, as far as its last command told."""
        ...

    async def run(self, command: str, *, timeout_s: float = 60.0) -> ShellResult:
        """Run a command; at the deadline it is interrupted and the session lives on."""
        ...

    async def save(self) -> Mapping[str, Json]:
        """Return what a fork can restore: working directory and exported variables."""
        ...

    async def close(self) -> None:
        """End the session and its foreground command."""
        ...


class Sandbox(Protocol):
    """A running isolated computer. Guest paths are absolute strings."""

    @property
    def id(self) -> str:
        """Name unique within this host."""
        ...

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
        user: str | None = None,
    ) -> ExecResult:
        """Run one command to its end, in the recipe's `workdir` where no other is given.

        It runs as the recipe's user where no other is given. A command that cannot be found
        exits with 127.
        """
        ...

    async def run_as_root(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
    ) -> ExecResult:
        """Run one command to its end as root, whoever the recipe's commands run as."""
        ...

    async def open_shell(
        self, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> Shell:
        """Start a persistent shell session."""
        ...

    async def read_file(self, path: str, *, max_bytes: int = 64 * 2**20) -> bytes:
        """Return a regular file's bytes. Raises GuestFileError."""
        ...

    async def write_file(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file, making its parents. Raises GuestFileError.

        Without `mode` a file that is there keeps its own, and a new one gets 0644.
        """
        ...

    async def upload(self, source: Path, target: str) -> None:
        """Copy a host file or folder to the guest path `target`."""
        ...

    async def download(self, source: str, target: Path) -> None:
        """Copy a guest file or folder to the host path `target`."""
        ...

    async def snapshot(self) -> Snapshot:
        """Freeze the files as they are; processes go on. Costs what changed since the start."""
        ...

    async def seal(self) -> Snapshot:
        """End everything inside, keep the files as a snapshot, and close. Copies nothing."""
        ...

    async def fork(self) -> Sandbox:
        """Start another sandbox from the files as they are now."""
        ...

    async def restore(self, snapshot: Snapshot) -> None:
        """End everything inside and go on from an earlier snapshot."""
        ...

    async def changes(self, since: Snapshot | None = None) -> Sequence[Change]:
        """List paths that differ from `since` (default: the snapshot it started from)."""
        ...

    def look(self) -> AbstractAsyncContextManager[FileTree]:
        """Stop what runs inside, offer its files as they are now, let it go on at the exit.

        The files are read from outside; nothing of the guest is executed. Commands and writes
        wait for the exit: await none meanwhile. After the exit the tree refuses to be read; who
        is reading it then is waited for.
        """
        ...

    async def connect(self, port: int) -> socket:
        """Return a socket connected to a TCP port of the guest's loopback."""
        ...

    async def processes(self) -> Sequence[Process]:
        """List live guest processes, the supervisor left out."""
        ...

    async def audit(self) -> Audit:
        """Return what was recorded where the guest cannot reach."""
        ...

    def begin(self) -> None:
        """Count the wall time from now: for a pool, when it hands a sandbox out."""
        ...

    async def usage(self) -> Usage:
        """Say what was used and who enforces which limit."""
        ...

    async def close(self) -> None:
        """End everything and remove every trace. Never raises, may be called twice."""
        ...


class FileTree(Protocol):
    """The files of a snapshot, read from outside: nothing of the guest is executed.

    Symbolic links are followed inside the guest's root and never out of it. A tree is
    synchronous, because task authors read it from plain functions.
    """

    def stat(self, path: str, *, follow: bool = True) -> FileStat | None:
        """Return what is at a path, or None where nothing is."""
        ...

    def read(self, path: str, *, max_bytes: int = 64 * 2**20) -> bytes:
        """Return a regular file's bytes. Raises GuestFileError."""
        ...

    def list(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory. Raises GuestFileError."""
        ...

    def walk(self, path: str) -> Iterator[tuple[str, FileStat]]:
        """Yield every path below a directory, parents first, links not followed."""
        ...


@runtime_checkable
class SandboxProvider(Protocol):
    """Starts sandboxes and keeps their snapshots. Offered by the `agentgym.sandboxes` door."""

    name: str
    capabilities: frozenset[Capability]

    def problems(self) -> Sequence[Problem]:
        """Say what this machine lacks to run the provider; empty where it can run."""
        ...

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> Sandbox:
        """Start a sandbox, from a snapshot or from the recipe's own root."""
        ...

    async def open_tree(self, snapshot: Snapshot) -> FileTree:
        """Open the files of a snapshot for reading, without running anything in it."""
        ...

    async def compare(self, before: Snapshot, after: Snapshot) -> Sequence[Change]:
        """List what changed from one snapshot to another."""
        ...

    async def find(self, key: str) -> Snapshot | None:
        """Return the snapshot that was kept under a key, if it is still whole."""
        ...

    async def keep(self, key: str, snapshot: Snapshot) -> Snapshot:
        """Make a snapshot outlive this process under a key; the first keeper wins."""
        ...

    async def discard(self, snapshot: Snapshot) -> None:
        """Drop a snapshot that was not kept. Never raises."""
        ...

    async def close(self) -> None:
        """Close every sandbox that is still open and drop what was not kept."""
        ...


# --- surfaces ------------------------------------------------------------------------------


class Picture(Protocol):
    """An image file that a tool returned."""

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        ...

    @property
    def mime(self) -> str:
        """Its media type."""
        ...


class Services(Protocol):
    """The live services of an episode, whoever calls them."""

    @property
    def now(self) -> str:
        """The logical time, ISO 8601 in UTC."""
        ...

    def call(self, tool: str, arguments: Mapping[str, Json], actor: Actor = "agent") -> Reply:
        """Call a tool; what goes wrong is in the reply and in the audit."""
        ...

    def picture(self, name: str) -> Picture | None:
        """Return the image of a name such as ``image:0123456789ab``, None where there is none."""
        ...

    @property
    def hash(self) -> str:
        """Hash of the state, 64 hex digits."""
        ...


@dataclass(frozen=True, slots=True)
class Site:
    """Where an episode happens: what surfaces attach to.

    Attributes:
        sandbox: The computer; one without files and commands where the environment has none.
        services: The stateful services, None where the environment has none.
    """

    sandbox: Sandbox
    services: Services | None = None


class Surface(Protocol):
    """What an agent can do and see. Offered by the `agentgym.surfaces` door.

    Attributes:
        name: Under which it is offered.
        pictures: Whether its observations may have an image.
    """

    name: str
    pictures: bool

    async def open(self, site: Site) -> None:
        """Attach to where the episode happens."""
        ...

    def tools(self) -> Sequence[ToolSpec]:
        """Return the tools in a stable order."""
        ...

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid call. Failures of the guest are observations, not errors."""
        ...

    async def observe(self) -> Observation:
        """Return the present view without acting."""
        ...

    async def save(self) -> Mapping[str, Json]:
        """Return the surface's part of a fork."""
        ...

    async def load(self, state: Mapping[str, Json]) -> None:
        """Take over a saved part after `open`."""
        ...

    async def close(self) -> None:
        """Let go of the site. Never raises."""
        ...


SurfaceFactory: TypeAlias = Callable[[Fittings], Surface]
"""Makes a surface, whose tools are then known."""


# --- agents --------------------------------------------------------------------------------


class Agent(Protocol):
    """A policy for one episode. Offered by the `agentgym.agents` door.

    `act` must depend on its arguments, the briefing and nothing else: a resumed or branched
    episode makes a new agent and hands it the recorded history.
    """

    async def start(self, briefing: Briefing) -> None:
        """Begin an episode."""
        ...

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Choose the next action. Raises AgentError where no action can be had."""
        ...

    async def close(self) -> None:
        """Release connections. Never raises."""
        ...


AgentFactory: TypeAlias = Callable[[str], Agent]
"""Makes an agent from what follows its name: ``openai:gpt-x`` calls ``factory("gpt-x")``."""


# --- users ---------------------------------------------------------------------------------


class UserWorld(Protocol):
    """What a simulated user can see and do: the services, called in their own name.

    Attributes:
        tools: The tools of the services; none where the environment has no services.
    """

    tools: Sequence[ToolSpec]

    def call(self, tool: str, arguments: Mapping[str, Json]) -> Reply:
        """Call a tool as actor ``user``; what goes wrong is in the reply and in the audit."""
        ...

    def calls(self) -> Sequence[AuditEntry]:
        """Return what has been called so far, by whomever."""
        ...

    def rows(self, table: str, where: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the rows of a table whose columns have these values.

        Raises:
            TaskError: There is no such table or column.
        """
        ...


class User(Protocol):
    """A person that the agent can write to, for one episode.

    Its factories are offered by the `agentgym.users` door.
    """

    def problems(self) -> Sequence[Problem]:
        """Say what this machine lacks for them to answer; empty where they can."""
        ...

    async def start(self, world: UserWorld) -> str:
        """Begin an episode.

        Returns:
            What they have written before the agent begins, empty where they wait; the same in
            every episode of the instance.
        """
        ...

    async def reply(self, message: str, recorded: UserTurn | None = None) -> UserTurn:
        """Answer a message; not called any more once they have left.

        Args:
            message: What the agent writes.
            recorded: What they answered when this episode was recorded. One who would not surely
                answer the same again does what is recorded and returns it.

        Raises:
            UserError: No answer can be had.
        """
        ...

    async def close(self) -> None:
        """Release connections. Never raises."""
        ...


# --- verification --------------------------------------------------------------------------


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
        """Return the rows of a table whose columns have these values, by primary key.

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
        """Return the names of the tables."""
        ...

    def columns(self, table: str) -> Sequence[str]:
        """Return the names of the columns of a table.

        Raises:
            VerifierError: There is no such table.
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
        show: Sequence[str] = ("steps", "answer", "changes"),
        *,
        votes: int = 1,
        top_k: int = 5,
    ) -> Judgement:
        """Ask the judge about one criterion.

        Args:
            criterion: What must hold; text stands for a question of yes and no.
            show: What the judge sees: ``steps``, ``answer``, ``changes``, ``screenshots`` and
                ``files:GLOB``, text files of the end state.
            votes: How many answers are had.
            top_k: How many screenshots are shown.

        Raises:
            VerifierError: No judge is set, or it gave no usable answer.
        """
        ...


Check: TypeAlias = Callable[..., CheckResult | bool]
"""Called as ``check(evidence, **arguments from the rubric)``; a bool is pass or fail."""


class StepGrader(Protocol):
    """Grades the steps of a recorded episode. Offered by the `agentgym.step_graders` door.

    What it says depends on the trajectory and on nothing else; only a grader that asks a model
    may say something else when it is asked again.

    Attributes:
        name: As in the door.
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


# --- recording -----------------------------------------------------------------------------


class EpisodeRecorder(Protocol):
    """Takes down one episode; what it has accepted survives the death of the process."""

    def step(self, step: Step) -> None:
        """Record a finished step."""
        ...

    def finish(
        self, verdict: Verdict, *, duration_s: float, error: str = "", audit: Audit | None = None
    ) -> None:
        """Record the verdict and close the episode."""
        ...
