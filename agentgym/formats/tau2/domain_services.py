"""The tools of a tau2 task as the services of an episode, called by agent and user."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from agentgym.errors import SandboxEndedError, ServiceError, TaskError
from agentgym.formats.tau2.model import Side
from agentgym.formats.tau2.process import WorldGoneError, WorldRaisedError
from agentgym.formats.tau2.talk import Talk
from agentgym.protocols import Picture
from agentgym.records import Actor, AuditEntry, Json, Reply, ToolSpec

_SIDES: Mapping[Actor, Side] = {"agent": "assistant", "user": "user"}


class TalkServices:
    """Live services over a `Talk`.

    Args:
        talk: Makes and records the calls.

    Attributes:
        now: Logical time; these domains have clocks of their own.
        waits: Always True: another process answers.
    """

    waits = True

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.now = ""

    def call(self, tool: str, arguments: Mapping[str, Json], actor: Actor = "agent") -> Reply:
        """Call a tool of the agent or of the user; the reply holds errors of the tool.

        Raises:
            SandboxEndedError: A call of the agent took too long or ended the world.
            TaskError: The world did not answer a call of another actor.
        """
        try:
            answer = self._talk.call(tool, arguments, _SIDES[actor])
        except WorldGoneError as error:
            if actor != "agent":
                raise
            raise SandboxEndedError(f"{error}; the episode ends here and is scored 0") from error
        except WorldRaisedError as error:
            if actor != "agent":
                raise
            return Reply(error=ServiceError("internal", str(error)))
        if answer.error:
            return Reply(error=ServiceError("invalid", answer.content.removeprefix("Error: ")))
        return Reply(_as_json(answer.content))

    def picture(self, name: str) -> Picture | None:
        """Return nothing: these tools have no images."""
        return None

    def keep_picture(self, data: bytes, mime: str) -> str:
        """Refuse an image: these tools have no images.

        Raises:
            ServiceError: Always.
        """
        raise ServiceError("invalid", "these services take no images")

    @property
    def hash(self) -> str:
        """Hash of both sides' databases."""
        return hashlib.sha256(json.dumps(self._talk.hashes()).encode()).hexdigest()


class CustomerWorld:
    """The customer's access to the services of a talk.

    Args:
        services: The live services.
        tools: Tools of the customer.
    """

    def __init__(self, services: TalkServices, tools: Sequence[ToolSpec]) -> None:
        self._services = services
        self.tools = tools

    def call(self, tool: str, arguments: Mapping[str, Json]) -> Reply:
        """Call a tool as actor ``user``."""
        return self._services.call(tool, arguments, "user")

    def calls(self) -> Sequence[AuditEntry]:
        """Return an empty sequence: no customer's script has conditions on calls."""
        return ()

    def rows(self, table: str, where: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Refuse: these domains have no tables.

        Raises:
            TaskError: Always.
        """
        raise TaskError(f"row of {table!r}: a domain of tau2-bench has no tables")


def _as_json(content: str) -> str:
    """Return a tool's answer as JSON text: an object or list unchanged, else a string."""
    if content[:1] in ("{", "["):
        try:
            json.loads(content)
        except ValueError:
            return json.dumps(content)
        return content
    return json.dumps(content)
