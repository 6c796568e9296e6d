"""An episode of a tau2 task under the rules of that benchmark: world, conversation and reward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from agentgym.env.control import MESSAGE_USER
from agentgym.errors import TaskError, UnsupportedError, VerifierError
from agentgym.formats.tau2.domain_services import CustomerWorld, TalkServices
from agentgym.formats.tau2.process import World, WorldGoneError
from agentgym.formats.tau2.reward import judge
from agentgym.formats.tau2.rules import Tau2Rules
from agentgym.formats.tau2.talk import Talk
from agentgym.formats.tau2.verdict import (
    UNFINISHED,
    customer_verdict,
    lost_verdict,
    with_judge,
)
from agentgym.protocols import EpisodeContext, Judge, Sandbox, Services, UserWorld
from agentgym.records import Effect, Step, Verdict
from agentgym.threads import to_thread
from agentgym.verify.judge.opening import judge_from_environment
from agentgym.verify.thread import in_thread


class Tau2Episode:
    """The rules of one running episode.

    Args:
        rules: Rules of the task.
        judge: Judge of sentences; None for the judge that AGENTGYM_JUDGE names.

    Attributes:
        services: Tools of the domain; set once the episode has begun.
        customer: The customer's access to services; likewise.
    """

    def __init__(self, rules: Tau2Rules, judge: Judge | None) -> None:
        self._rules, self._judge = rules, judge
        self._world: World | None = None
        self._talk: Talk | None = None
        self._ended = False
        self._noted = 0
        self.services: Services | None = None
        self.customer: UserWorld | None = None

    async def begin(self, sandbox: Sandbox) -> str:
        """Begin the world and return the policy, with the earlier messages.

        Raises:
            TaskError: The world cannot be begun.
        """
        return await to_thread(self._begin)

    def _begin(self) -> str:
        task = self._rules.task
        self._world = self._rules.domain.process.world()
        self._talk = Talk(self._world, task)
        services = TalkServices(self._talk)
        self.services = services
        self.customer = CustomerWorld(services, self._rules.domain.user_tools)
        policy = self._world.ask("describe")["policy"]
        said = [line for message in task.history if (line := _line(message))]
        earlier = ["", "The conversation so far:", *said] if said else []
        return "\n".join(["", "# Policy", policy, *earlier])

    async def submit(self, sandbox: Sandbox, answer: str) -> str | None:
        """End the conversation; an answer is the agent's last message."""
        if answer and self._talk is not None:
            self._talk.say(answer)  # the last message of all
        self._ended = True
        return None

    def note(self, step: Step) -> None:
        """Note the messages of a step: those before the customer's actions, and those after."""
        if self._talk is None:
            return
        if step.action.tool == MESSAGE_USER.name and step.observation.effect is not Effect.ERROR:
            said = {"role": "assistant", "content": str(step.action.arguments["text"])}
            self._talk.messages.insert(self._noted, said)
            self._talk.say(step.observation.text, "user")
            self._ended |= bool((step.observation.data or {}).get("left"))
        self._noted = len(self._talk.messages)

    def fork(self, context: EpisodeContext) -> NoReturn:
        """Refuse a fork: the world lives in a process of its own.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(
            "a tau2 world cannot be forked: it lives in a process of its own, which cannot be "
            "copied; play the task again instead"
        )

    async def finish(self, sandbox: Sandbox, *, gave_up: bool) -> Verdict:
        """Judge the conversation.

        Raises:
            VerifierError: The conversation cannot be repeated, or a world took too long. The
                agent's calls may have caused that.
            TaskError: The process of the domain has ended.
        """
        return await in_thread(lambda: self._judged(gave_up))

    def _judged(self, gave_up: bool) -> Verdict:
        talk = self._talk
        assert talk is not None and self.services is not None, "an episode begins before it ends"
        try:
            reached = self.services.hash
        except TaskError as error:
            if talk.broken:
                return lost_verdict("world", talk.broken)
            raise _doubtful(error) from error
        try:
            return replace(self._rewarded(talk, gave_up), state_hash=reached)
        except WorldGoneError as error:
            raise _doubtful(error) from error

    def _rewarded(self, talk: Talk, gave_up: bool) -> Verdict:
        rules = self._rules
        if not (self._ended or gave_up):
            return lost_verdict("ended", UNFINISHED)
        reward = judge(rules.domain.process, rules.task, talk.messages)
        if reward.broken:
            raise VerifierError(reward.broken)
        if reward.value is None:
            reward = with_judge(reward, talk.messages, self._judge or judge_from_environment())
        return customer_verdict(reward, gave_up=gave_up)

    def close(self) -> None:
        """End the world. Never raises."""
        world, self._world = self._world, None
        if world is not None:
            world.close()


def _doubtful(error: TaskError) -> TaskError | VerifierError:
    """Return the error of a world as one that the agent may have caused, if only it has ended."""
    return VerifierError(str(error)) if isinstance(error, WorldGoneError) else error


def _line(message: Mapping[str, Any]) -> str:
    """Return an earlier message as a line, empty if it has no text."""
    if message["role"] == "tool":
        return f"[result] {message.get('content')}"
    calls = [f"{call['name']}({call['arguments']})" for call in message.get("tool_calls") or ()]
    text = message.get("content") or " ".join(calls)
    return f"[{message['role']}] {text}" if text else ""
