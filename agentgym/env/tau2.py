"""An episode of a tau2 task under that benchmark's rules: its world, the talk, and the reward."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.env.control import MESSAGE_USER
from agentgym.protocols import Sandbox, Services, UserWorld
from agentgym.records import Step, Verdict
from agentgym.task.foreign.tau2.process import World
from agentgym.task.foreign.tau2.reward import judge
from agentgym.task.foreign.tau2.rules import Tau2Rules
from agentgym.task.foreign.tau2.services import CustomerWorld, TalkServices
from agentgym.task.foreign.tau2.talk import Talk
from agentgym.verify.foreign.customer import customer_verdict


class Tau2Episode:
    """The rules of one running episode.

    Args:
        rules: Of the task.

    Attributes:
        services: The tools of the domain; there once the episode has begun.
        customer: What the customer can do; likewise.
    """

    def __init__(self, rules: Tau2Rules) -> None:
        self._rules = rules
        self._world: World | None = None
        self._talk: Talk | None = None
        self._ended = False
        self.services: Services | None = None
        self.customer: UserWorld | None = None

    async def begin(self, sandbox: Sandbox) -> str:
        """Begin the world and return the policy, with what was said before.

        Raises:
            TaskError: The world cannot be begun.
        """
        return await asyncio.to_thread(self._begin)

    def _begin(self) -> str:
        task = self._rules.task
        self._world = self._rules.domain.process.world()
        self._talk = Talk(self._world, task)
        services = TalkServices(self._talk, self._world)
        self.services = services
        self.customer = CustomerWorld(services, self._rules.domain.user_tools)
        policy = self._world.ask("describe")["policy"]
        said = [line for message in task.history if (line := _line(message))]
        earlier = ["", "The conversation so far:", *said] if said else []
        return "\n".join(["", "# Policy", policy, *earlier])

    async def submit(self, sandbox: Sandbox, answer: str) -> str | None:
        """End the conversation; an answer is the agent's last message."""
        if answer and self._talk is not None:
            self._talk.say(answer)
        self._ended = True
        return None

    async def finish(self, sandbox: Sandbox, steps: Sequence[Step], *, gave_up: bool) -> Verdict:
        """Judge the conversation.

        Raises:
            TaskError: A world did not answer.
        """
        task, talk = self._rules.task, self._talk
        messages = [step for step in steps if step.action.tool == MESSAGE_USER.name]
        left = any((step.observation.data or {}).get("left") for step in messages)
        if talk is None or not (self._ended or gave_up or left):
            return customer_verdict(self._rules, None, gave_up=gave_up)
        for step in messages:
            talk.say(str(step.action.arguments.get("text", "")))
        process = self._rules.domain.process
        reward = await asyncio.to_thread(judge, process, task, talk.messages)
        return customer_verdict(self._rules, reward, gave_up=gave_up)

    def close(self) -> None:
        """End the world. Never raises."""
        world, self._world = self._world, None
        if world is not None:
            world.close()


def _line(message: Mapping[str, Any]) -> str:
    """Return an earlier message as a line, empty where it has no words."""
    if message["role"] == "tool":
        return f"[result] {message.get('content')}"
    calls = [f"{call['name']}({call['arguments']})" for call in message.get("tool_calls") or ()]
    text = message.get("content") or " ".join(calls)
    return f"[{message['role']}] {text}" if text else ""
