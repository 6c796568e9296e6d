"""The error tree: one base class, one class per boundary a failure can belong to.

    AgentGymError
    ├── ConfigError          a name, option or setting is wrong
    │   ├── NotFoundError    a mistyped or absent name; carries the close matches
    │   └── MissingExtraError  an optional package or program is not installed
    ├── PluginError          an entry point cannot be loaded or breaks its contract
    ├── TaskError            a task folder, template or setup is broken
    ├── SandboxError         the sandbox cannot start, died, or refused an operation
    │   ├── SandboxDiedError     the supervisor does not answer any more
    │   │   └── SandboxEndedError    the guest caused it; its files can still be judged
    │   ├── SandboxTimeoutError  it did not answer before the deadline
    │   ├── SandboxLimitError    a declared limit was reached
    │   ├── GuestFileError       a guest path is absent, of the wrong kind or too large
    │   └── UnsupportedError     the provider lacks the capability
    ├── SurfaceError         a surface cannot be opened or driven
    │   ├── SurfaceEndedError  the program behind it ended; the episode is judged
    │   ├── SurfaceLostError   a process that episodes share ended; the episode is played again
    │   └── ActionError      the action is not a legal tool call (the agent's fault)
    ├── ServiceError         a service refused a call or is itself broken; carries a code
    ├── VerifierError        a check, rubric or judge is broken
    ├── AgentError           the agent cannot be asked (endpoint down); not the policy's fault
    │   └── PolicyError          the policy failed; the episode ends and is judged as it is
    ├── UserError            the simulated user failed; never the agent's fault
    ├── ServerError          an environment server cannot be reached, or refused a call; a code
    ├── RecordError          a run folder is unreadable, locked or of another version
    │   └── DiskFullError      the disk that a run is recorded on is full
    └── ReplayError          a recorded episode cannot be re-executed

Every class names its `boundary`, the word that appears in `status = "error:<boundary>"`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import ClassVar, Final

_LONGEST_TYPED: Final = 200
"""Characters of a name that may be a slip; to compare longer ones takes seconds."""

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""C0 and C1 controls except tab and line feed: what a terminal obeys (ECMA-48)."""


class AgentGymError(Exception):
    r"""Base of every error that agentgym raises on purpose.

    Messages quote texts of agents, tasks and servers. If an error is not caught, Python prints its
    message to the terminal, so ``str(error)`` spells control characters out.

    Example:
        >>> print(AgentGymError("no task named \x1b]0;title\x07"))
        no task named \x1b]0;title\x07
    """

    boundary: ClassVar[str] = "engine"

    def __str__(self) -> str:
        """Return the message without control characters."""
        return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], super().__str__())


class ConfigError(AgentGymError):
    """A name, option or setting given by the user is wrong."""

    boundary = "config"


class NotFoundError(ConfigError):
    """A name that is not known.

    Args:
        kind: Kind of thing that was looked up, as a noun: ``"task"``, ``"agent"``.
        name: The name as the user typed it.
        known: The names that would have been accepted.
        hint: A last sentence with the next step, if the close match is not enough.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.matches = tuple(close_matches(name, known))
        message = f"no {kind} named {name!r}"
        if self.matches:
            message += f"; did you mean {' or '.join(repr(m) for m in self.matches)}?"
        if hint:
            message += f" {hint}" if message.endswith("?") else f"; {hint}"
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the names it was compared to."""
        return _revive, (NotFoundError, str(self), vars(self))


class MissingExtraError(ConfigError):
    """An optional package or program is needed and not installed.

    Args:
        what: The missing package or program.
        install: The command that installs it.
    """

    def __init__(self, what: str, install: str) -> None:
        self.what = what
        self.install = install
        super().__init__(f"{what} is not installed; run: {install}")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments."""
        return MissingExtraError, (self.what, self.install)


class PluginError(AgentGymError):
    """An entry point cannot be loaded, or what it offers breaks its contract."""

    boundary = "plugin"


class TaskError(AgentGymError):
    """A task folder, its template or its setup is broken."""

    boundary = "task"


class SandboxError(AgentGymError):
    """The sandbox cannot start, or refused an operation."""

    boundary = "sandbox"


class SandboxDiedError(SandboxError):
    """The sandbox is gone: its supervisor closed the connection."""


class SandboxEndedError(SandboxDiedError):
    """A limit, or the guest itself, ended the sandbox: its files remain and can be judged."""


class SandboxTimeoutError(SandboxError):
    """The sandbox did not answer before the deadline."""


class SandboxLimitError(SandboxError):
    """A declared limit (pids, memory, disk, output) was reached."""


class GuestFileError(SandboxError):
    """A guest path is absent, of the wrong kind, too large, or may not be touched."""


class UnsupportedError(SandboxError):
    """A sandbox provider, or another part of an episode, cannot do what was asked for."""


class SurfaceError(AgentGymError):
    """A surface cannot be opened or driven."""

    boundary = "surface"


class SurfaceEndedError(SurfaceError):
    """The program behind the surface ended during the episode, which is judged as it is."""


class SurfaceLostError(SurfaceError):
    """A process that episodes share, such as a browser, ended: no episode is to blame for it."""


class ActionError(SurfaceError):
    """The action is not a legal tool call (unknown tool, wrong types, unusable text)."""


class ServiceError(AgentGymError):
    """A service refused a call, or is broken.

    Args:
        code: ``not_found``, ``invalid``, ``conflict``, ``forbidden``, ``unavailable``, or
            ``internal`` if the service itself is at fault.
        message: What was seen, what was expected, and the next step.
        field: The argument that the error concerns.
    """

    boundary = "service"

    def __init__(self, code: str, message: str, field: str | None = None) -> None:
        self.code = code
        self.message = message
        self.field = field
        super().__init__(f"{field}: {message}" if field else message)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments."""
        return ServiceError, (self.code, self.message, self.field)


class VerifierError(AgentGymError):
    """A check, a rubric or a judge is broken; the episode stays unscored."""

    boundary = "verifier"


class AgentError(AgentGymError):
    """The agent cannot be asked, through no fault of its policy: its endpoint is down.

    The episode stays unscored. The engine accepts this class only from agentgym's own code: see
    `agentgym.agents.blame`.

    Attributes:
        detail: Text that the record keeps with the message: a traceback, or the unusable replies.
        usage: The `TokenUsage` of a decision that was not made; None if it cost nothing.
        generations: The completions (`Generation`) of such a decision, in a tuple; None if they are
            not known.
    """

    boundary = "agent"
    detail: str = ""
    usage: object = None
    generations: object = None


class PolicyError(AgentError):
    """The policy failed: no usable reply, a dialogue too long, a bug of the agent's own.

    The episode ends and is judged in the state it has.
    """


class UserError(AgentGymError):
    """The simulated user failed (endpoint down, unusable reply); the episode stays unscored."""

    boundary = "user"


class ServerError(AgentGymError):
    """An environment server cannot be reached, ended, or refused a call.

    Args:
        code: The server's code, such as ``too_many`` (docs/server.md); ``unreachable``, ``stopped``
            or ``late`` if the connection failed.
        message: What was seen, what was expected, and the next step.
    """

    boundary = "server"

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor's arguments."""
        return ServerError, (self.code, self.message)


class RecordError(AgentGymError):
    """A run folder is unreadable, in use by another process, or of another version."""

    boundary = "record"


class DiskFullError(RecordError):
    """The disk that a run is recorded on is full; what was recorded before is kept."""


class ReplayError(AgentGymError):
    """A recorded episode cannot be re-executed."""

    boundary = "replay"


def _revive(
    kind: type[AgentGymError], message: str, attributes: dict[str, object]
) -> AgentGymError:
    error = kind.__new__(kind, message)
    error.args = (message,)
    vars(error).update(attributes)
    return error


def close_matches(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return the known names closest to a mistyped one, best first.

    A name that only lacks the suite or the version is close, too: ``git-repair`` finds
    ``terminal/git-repair-v1``. A name of hundreds of characters has none.
    """
    if len(name) > _LONGEST_TYPED:
        return []
    names = sorted(set(known))
    tail = {n.rsplit("/", 1)[-1].rsplit("-v", 1)[0]: n for n in names}
    found = difflib.get_close_matches(name, names, n=limit, cutoff=0.6)
    stem = name.rsplit("/", 1)[-1].rsplit("-v", 1)[0]
    found += [tail[t] for t in difflib.get_close_matches(stem, tail, n=limit, cutoff=0.75)]
    return list(dict.fromkeys(found))[:limit]


def pass_interruptions(error: BaseException) -> None:
    """Raise an exception again that no foreign code is blamed for: Ctrl-C, or a cancelled task.

    Foreign code may raise anything else, also what is no `Exception`: SystemExit, or the panic of
    an extension module in Rust.
    """
    from asyncio import CancelledError

    if isinstance(error, KeyboardInterrupt | CancelledError | GeneratorExit):
        raise error
