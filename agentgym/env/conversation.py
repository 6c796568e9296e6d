"""The user of a task: what passes between them and the agent, and what they do on their own.

Whatever goes wrong on their side is a UserError, so that it never counts against the agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from agentgym.env.control import MESSAGE_USER
from agentgym.errors import (
    ActionError,
    AgentGymError,
    NotFoundError,
    TaskError,
    UnsupportedError,
    UserError,
)
from agentgym.manifest import Location, locate, read_text, show_path
from agentgym.protocols import ForkableUser, User, UserWorld
from agentgym.records import (
    Action,
    Effect,
    Observation,
    StepEvent,
    StepEventKind,
    ToolSpec,
    UserTurn,
)
from agentgym.services.backend import ServiceSet
from agentgym.services.tables import select
from agentgym.surfaces.calls import check_call
from agentgym.task.model import Instance, Task
from agentgym.task.user import FILE, Deed, RowCondition, UserScript
from agentgym.user.registry import create
from agentgym.user.slots import Slots, UnfilledError

TURN_S: Final = 1800.0
"""The longest that any user may take for a turn: nothing hangs for ever."""

MAX_WRITTEN: Final = 100_000
"""Characters that an agent may write to its user in an episode: nobody reads without end."""

_CLOSE_S: Final = 10.0
_LEFT: Final = "[the user has left the conversation]"
_GONE: Final = "error: nobody answers: the user has left the conversation"


class Conversation:
    """The conversation of an episode.

    Args:
        script: Who the user is.
        spec: Who plays them.

    Attributes:
        waited_s: Seconds that the agent has waited for the user in this episode.
    """

    def __init__(self, script: UserScript, spec: str) -> None:
        self._script, self._spec = script, spec
        self._user: User | None = None
        self._left = False
        self._written = 0
        self._recorded: UserTurn | None = None
        self.waited_s = 0.0

    async def begin(
        self, instance: Instance, world: UserWorld, note: Callable[[StepEvent], None]
    ) -> str:
        """Begin.

        Args:
            instance: The task with its parameters.
            world: What the user can see and do.
            note: Takes down what the user does.

        Returns:
            What the agent is told of it, empty where the user waits.

        Raises:
            UserError: The user failed.
            ConfigError: There is nobody of that name, or their argument is not accepted.
        """
        self._note = note
        self._user = create(self._spec, self._script, instance)
        with _failing(self._spec):
            async with asyncio.timeout(TURN_S):
                opening = await self._user.start(world)
        return f"[user] {opening}" if opening else ""

    def fork(self, world: UserWorld, note: Callable[[StepEvent], None]) -> Conversation:
        """Return the conversation of another episode, as far as this one has got.

        Args:
            world: What the user can see and do there.
            note: Takes down what the user does there.

        Raises:
            UnsupportedError: This user cannot be forked.
        """
        if not isinstance(self._user, ForkableUser):
            raise UnsupportedError(
                f"user {self._spec!r} cannot be forked: it has no method fork(world); take "
                "--user scripted, or play the episode again"
            )
        other = Conversation(self._script, self._spec)
        other._note, other._user = note, self._user.fork(world)
        other._left, other._written = self._left, self._written
        other.waited_s = self.waited_s
        return other

    def expect(self, recorded: Sequence[StepEvent]) -> None:
        """Take what happened in the next step when it was recorded; empty for a new one."""
        turns = [event.turn for event in recorded if event.turn is not None]
        self._recorded = turns[0] if turns else None

    async def call(self, action: Action) -> Observation:
        """Deliver a message and return the user's answer.

        Raises:
            UserError: The user failed.
            TaskError: Their script did.
        """
        assert self._user is not None, "a conversation begins before it goes on"
        if self._left:
            return Observation(_GONE, effect=Effect.ERROR)
        text = str(action.arguments["text"])
        if self._written + len(text) > MAX_WRITTEN:
            return Observation(
                f"error: not sent: with these {len(text):,} characters you would have written "
                f"{self._written + len(text):,} to the user; expected at most {MAX_WRITTEN:,} in "
                "an episode. Write less, or end the episode",
                effect=Effect.ERROR,
            )
        self._written += len(text)
        recorded, self._recorded = self._recorded, None
        began = time.monotonic()
        try:
            with _failing(self._spec):
                async with asyncio.timeout(TURN_S):
                    turn = await self._user.reply(text, recorded)
        finally:
            self.waited_s += time.monotonic() - began
        self._left = turn.left
        self._note(StepEvent(StepEventKind.USER, turn.state or "user", _told(turn), turn))
        text = f"{turn.text}\n{_LEFT}" if turn.left else turn.text
        return Observation(text, data={"left": turn.left}, effect=Effect.CHANGED)

    async def close(self) -> None:
        """Let the user go. Never raises."""
        user, self._user = self._user, None
        if user is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(user.close(), _CLOSE_S)


def agent_tools(tools: Sequence[ToolSpec], user: UserScript | None) -> tuple[ToolSpec, ...]:
    """Return the tools that an agent has: those of its surfaces, and one to write to a user."""
    return tuple(tools) if user is None else (*tools, MESSAGE_USER)


def check_user(task: Task, services: ServiceSet | None) -> None:
    """Make sure that what a user's file refers to is there.

    Raises:
        TaskError: It names a tool, table or column that the services do not have; names file and
            line of each.
    """
    if task.user is None or task.foreign is not None:
        return
    path = task.folder / FILE
    text = read_text(path, TaskError)
    problems = [
        f"{show_path(path)}:{locate(text, at)}: {'.'.join(map(str, at))}: {what}"
        for at, what in _strangers(task.user, services, Slots(task.instance(0).params, FILE))
    ]
    if problems:
        raise TaskError("\n".join(problems))


def _strangers(
    script: UserScript, services: ServiceSet | None, slots: Slots
) -> Iterator[tuple[Location, str]]:
    functions: Mapping[str, object] = {} if services is None else services.functions
    for field, globs in (("tools", script.tools), ("own", script.own)):
        for index, glob in enumerate(globs):
            if not any(fnmatchcase(name, glob) for name in functions):
                yield (field, index), f"{glob!r} picks none of {len(functions)} tools"
    for at, doing in script.doings():
        for index, deed in enumerate(doing.do):
            if what := _stranger_deed(deed, services, slots):
                yield (*at, "do", index), what
    for at, rule in script.rules():
        if rule.called is not None and rule.called.tool not in functions:
            told = str(NotFoundError("tool", rule.called.tool, functions))
            yield (*at, "called", "tool"), told
        if rule.row is not None and (what := _stranger_row(rule.row, services)):
            yield (*at, "row"), what


def _stranger_deed(deed: Deed, services: ServiceSet | None, slots: Slots) -> str:
    tools = () if services is None else services.tools
    try:
        arguments = slots.object(deed.arguments)
    except UnfilledError:
        # What another call returns is known when it has been made.
        known = [tool.name for tool in tools]
        return "" if deed.tool in known else str(NotFoundError("tool", deed.tool, known))
    try:
        check_call(Action(deed.tool, arguments), tools)
    except ActionError as error:
        return str(error)
    return ""


def _stranger_row(row: RowCondition, services: ServiceSet | None) -> str:
    if services is None:
        return f"no table named {row.table!r}; the environment has no services"
    try:
        select(services.layout, row.table, list(row.where))
    except NotFoundError as error:
        return str(error)
    return ""


@contextlib.contextmanager
def _failing(spec: str) -> Iterator[None]:
    """Keep the failures of a user at their boundary; those of a task stay the task's."""
    try:
        yield
    except AgentGymError:
        raise
    except TimeoutError as error:
        raise UserError(f"user {spec!r}: nothing within {TURN_S:g} s") from error
    except Exception as error:  # whatever somebody else's user raises
        raise UserError(f"user {spec!r}: {type(error).__name__}: {error}") from error


def _told(turn: UserTurn) -> str:
    calls = ", ".join(call.tool for call in turn.calls)
    parts = [
        f"called {calls}" if calls else "",
        "" if turn.understood else "did not understand",
        "left" if turn.left else "",
    ]
    return "; ".join(part for part in parts if part) or "answered"
