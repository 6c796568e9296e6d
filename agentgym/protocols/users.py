"""Simulated users, and what they are in touch with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from agentgym.records import AuditEntry, Json, Problem, Reply, ToolSpec, UserTurn


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

    Its factories are offered by the entry points `agentgym.users`.
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


@runtime_checkable
class ForkableUser(Protocol):
    """What a user can do beside: go on in two episodes.

    Episodes with a user that lacks this cannot be forked.
    """

    def fork(self, world: UserWorld) -> User:
        """Return another user who remembers the same; neither sees what the other does later.

        Args:
            world: What the other user can see and do.
        """
        ...
