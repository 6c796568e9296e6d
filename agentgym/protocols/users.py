"""Protocols of simulated users, and of their access to services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from agentgym.records import AuditEntry, Json, Problem, Reply, ToolSpec, UserMessage, UserTurn


class UserWorld(Protocol):
    """A simulated user's access to the services, called in their own name.

    Attributes:
        tools: Tools of the services; empty if the environment has no services.
    """

    tools: Sequence[ToolSpec]

    def call(self, tool: str, arguments: Mapping[str, Json]) -> Reply:
        """Call a tool as actor ``user``; the reply and the audit hold its errors."""
        ...

    def calls(self) -> Sequence[AuditEntry]:
        """Return the calls so far, of all actors."""
        ...

    def rows(self, table: str, where: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the rows of a table whose columns have these values.

        Raises:
            TaskError: The table or column does not exist.
        """
        ...


class User(Protocol):
    """A person that the agent can write to, for one episode.

    The entry points `agentgym.users` offer its factories.
    """

    def problems(self) -> Sequence[Problem]:
        """Return what this machine lacks for the user to answer; empty if they can."""
        ...

    async def start(self, world: UserWorld) -> str:
        """Begin an episode.

        Returns:
            Text that the user has written before the agent begins, empty if they wait; the same in
            every episode of the instance.
        """
        ...

    async def reply(self, message: UserMessage, recorded: UserTurn | None = None) -> UserTurn:
        """Answer a message; it is not called after the user has left.

        Args:
            message: Message of the agent: its text, and the saved replies that it is made of, if
                the task has such replies.
            recorded: The user's answer when this episode was recorded. A user whose answers may
                vary repeats the recorded calls and returns this answer.

        Raises:
            UserError: The user cannot answer.
        """
        ...

    async def close(self) -> None:
        """Release connections. Never raises."""
        ...


@runtime_checkable
class ForkableUser(Protocol):
    """A user that can go on in two episodes.

    Episodes with a user that lacks this cannot be forked.
    """

    def fork(self, world: UserWorld) -> User:
        """Return another user who remembers the same; neither sees what the other does later.

        Args:
            world: The other user's access to the services.
        """
        ...
