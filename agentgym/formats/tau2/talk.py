"""An episode of a tau2 task: a world, and the messages that its rules judge."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym.formats.tau2.model import Side, Tau2Task
from agentgym.formats.tau2.process import World, WorldGoneError


@dataclass(frozen=True)
class Answer:
    """The answer of a tool: text, and whether the call failed."""

    content: str
    error: bool


class Talk:
    """The messages of one episode, in the schema of tau2-bench, and the world they change.

    Args:
        world: World of the episode; the talk begins it.
        task: The task.

    Attributes:
        messages: Messages and calls so far.
        broken: Reason why a call of the agent ended the world; empty if none did.
    """

    def __init__(self, world: World, task: Tau2Task) -> None:
        self._world = world
        self.messages: list[Mapping[str, Any]] = list(task.history)
        self.broken = ""
        self._lock = threading.Lock()
        world.begin(task, self.messages)

    def say(self, text: str, side: Side = "assistant") -> None:
        """Record a message from one side to the other."""
        self.messages.append({"role": side, "content": text})

    def call(self, name: str, arguments: Mapping[str, Any], side: Side = "assistant") -> Answer:
        """Call a tool of one side.

        Raises:
            WorldGoneError: The call took too long or ended the world.
            TaskError: The world did not answer.
        """
        given = dict(arguments)
        with self._lock:
            try:
                told = self._world.ask("call", name=name, arguments=given, requestor=side)
            except WorldGoneError as error:
                self.broken = str(error) if side == "assistant" else ""
                raise
            self._note(name, given, side, told)
        return Answer(told["content"], told["error"])

    def _note(
        self, name: str, given: Mapping[str, Any], side: Side, told: Mapping[str, Any]
    ) -> None:
        number = f"call-{len(self.messages)}"
        call = {"id": number, "name": name, "arguments": given, "requestor": side}
        reply = {"role": "tool", "id": number, "requestor": side, **told}
        self.messages += [{"role": side, "content": None, "tool_calls": [call]}, reply]

    def hashes(self) -> Sequence[str | None]:
        """Return the hashes of both sides' databases, after running calls have ended.

        Raises:
            TaskError: The world did not answer.
        """
        with self._lock:
            return list(self._world.ask("hashes"))
