"""The user of a task: their conversation with the agent, and their own actions.

Every failure on the user's side is a UserError, so that it never counts against the agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from agentgym.env.answer import read_user_message
from agentgym.env.control import message_tool
from agentgym.errors import (
    ActionError,
    AgentGymError,
    NotFoundError,
    TaskError,
    UnsupportedError,
    UserError,
    pass_interruptions,
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
from agentgym.records.pattern import fits_glob
from agentgym.services.backend import ServiceSet
from agentgym.services.tables import select
from agentgym.surfaces.calls import check_call
from agentgym.task.model import Instance, Task
from agentgym.task.replies import SavedReply
from agentgym.task.user import FILE, CalledCondition, Deed, RowCondition, UserScript
from agentgym.user.registry import create
from agentgym.user.slots import Slots, UnfilledError

TURN_S: Final = 1800.0
"""Longest time of a user's turn in seconds, so that no episode hangs."""

MAX_WRITTEN: Final = 100_000
"""Largest number of characters that an agent may write to its user in an episode."""

_CLOSE_S: Final = 10.0
_LEFT: Final = "[the user has left the conversation]"
_GONE: Final = "error: there is no answer: the user has left the conversation"


class Conversation:
    """The conversation of an episode.

    Args:
        script: Description of the user.
        spec: Spec of the player of the user.
        replies: The saved replies, if the user hears nothing else.

    Attributes:
        waited_s: Time that the agent has waited for the user in this episode, in seconds.
        is_asked: Whether the agent waits for the user now.
    """

    def __init__(self, script: UserScript, spec: str, replies: Sequence[SavedReply] = ()) -> None:
        self._script, self._spec, self._replies = script, spec, replies
        self._user: User | None = None
        self._left = False
        self._written = 0
        self._recorded: UserTurn | None = None
        self.waited_s, self.is_asked = 0.0, False

    async def begin(
        self, instance: Instance, world: UserWorld, note: Callable[[StepEvent], None]
    ) -> str:
        """Begin the conversation.

        Args:
            instance: The task with its parameters.
            world: The user's access to the services.
            note: Records an action of the user.

        Returns:
            The user's opening; empty if the user waits for a message.

        Raises:
            UserError: The user failed.
            ConfigError: The spec names no known user, or its argument is not accepted.
        """
        self._note = note
        self._user = create(self._spec, self._script, instance)
        with _failing(self._spec):
            async with asyncio.timeout(TURN_S):
                opening = await self._user.start(world)
        return f"[user] {opening}" if opening else ""

    def fork(self, world: UserWorld, note: Callable[[StepEvent], None]) -> Conversation:
        """Return the conversation of a forked episode, in the same state.

        Args:
            world: The user's access to the services of the fork.
            note: Records an action of the user in the fork.

        Raises:
            UnsupportedError: This user cannot be forked.
        """
        if not isinstance(self._user, ForkableUser):
            raise UnsupportedError(
                f"user {self._spec!r} cannot be forked: it has no method fork(world); take "
                "--user scripted, or play the episode again"
            )
        other = Conversation(self._script, self._spec, self._replies)
        other._note, other._user = note, self._user.fork(world)
        other._left, other._written = self._left, self._written
        other.waited_s = self.waited_s
        return other

    def expect(self, recorded: Sequence[StepEvent]) -> None:
        """Take the recorded events of the next step; empty if the step is new."""
        turns = [event.turn for event in recorded if event.turn is not None]
        self._recorded = turns[0] if turns else None

    async def call(self, action: Action) -> Observation:
        """Deliver a message and return the user's answer.

        Raises:
            UserError: The user failed.
            TaskError: The user's script failed.
        """
        assert self._user is not None, "a conversation begins before it goes on"
        if self._left:
            return Observation(_GONE, effect=Effect.ERROR)
        message = read_user_message(action, self._replies)
        length = len(message.text)
        if self._written + length > MAX_WRITTEN:
            return Observation(
                f"error: not sent: with these {length:,} characters you would have written "
                f"{self._written + length:,} to the user; expected at most {MAX_WRITTEN:,} in "
                "an episode. Write less, or end the episode",
                effect=Effect.ERROR,
            )
        self._written += length
        recorded, self._recorded = self._recorded, None
        began, self.is_asked = time.monotonic(), True
        try:
            with _failing(self._spec):
                async with asyncio.timeout(TURN_S):
                    turn = await self._user.reply(message, recorded)
        finally:
            self.waited_s += time.monotonic() - began
            self.is_asked = False
        self._left = turn.left
        typed = message if message.replies else None
        self._note(StepEvent(StepEventKind.USER, turn.state or "user", _told(turn), turn, typed))
        text = f"{turn.text}\n{_LEFT}" if turn.left else turn.text
        return Observation(text, data={"left": turn.left}, effect=Effect.CHANGED)

    async def close(self) -> None:
        """Close the user. Never raises."""
        user, self._user = self._user, None
        if user is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_CLOSE_S):
                    await user.close()


def agent_tools(tools: Sequence[ToolSpec], task: Task) -> tuple[ToolSpec, ...]:
    """Return the tools of an agent: those of its surfaces, and one to write to a user."""
    return tuple(tools) if task.user is None else (*tools, message_tool(task.manifest.replies))


def check_user(task: Task, services: ServiceSet | None) -> None:
    """Check that everything which a user's file refers to exists.

    Raises:
        TaskError: The file names a tool, table or column that the services lack; the message names
            file and line of each.
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
            if not any(fits_glob(name, glob) for name in functions):
                yield (field, index), f"{glob!r} picks none of {len(functions)} tools"
    for at, doing in script.doings():
        for index, deed in enumerate(doing.do):
            if what := _stranger_deed(deed, services, slots):
                yield (*at, "do", index), what
    for at, rule in script.rules():
        if rule.called is not None:
            for part, told in _stranger_condition(rule.called, services):
                yield (*at, "called", *part), told
        if rule.row is not None and (what := _stranger_row(rule.row, services)):
            yield (*at, "row"), what


def _stranger_condition(
    called: CalledCondition, services: ServiceSet | None
) -> Iterator[tuple[Location, str]]:
    functions = {} if services is None else services.functions
    if called.tool not in functions:
        yield ("tool",), str(NotFoundError("tool", called.tool, functions))
        return
    known = functions[called.tool].properties
    for name in called.arguments:
        if name not in known:
            yield ("with", name), str(NotFoundError("argument", name, known))


def _stranger_deed(deed: Deed, services: ServiceSet | None, slots: Slots) -> str:
    tools = () if services is None else services.tools
    try:
        arguments = slots.object(deed.arguments)
    except UnfilledError:
        # The result of another call is known only after the call.
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
    """Turn a user's failures into UserErrors; errors of the task pass through."""
    try:
        yield
    except AgentGymError:
        raise
    except TimeoutError as error:
        raise UserError(f"user {spec!r}: nothing within {TURN_S:g} s") from error
    except BaseException as error:  # a foreign user may raise anything
        pass_interruptions(error)
        raise UserError(f"user {spec!r}: {type(error).__name__}: {error}") from error


def _told(turn: UserTurn) -> str:
    calls = ", ".join(call.tool for call in turn.calls)
    parts = [
        f"called {calls}" if calls else "",
        "" if turn.understood else "did not understand",
        "left" if turn.left else "",
    ]
    return "; ".join(part for part in parts if part) or "answered"
