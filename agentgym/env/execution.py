"""Executes the actions of one episode: calls of tools, `submit` and `give_up`."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.env.answer import check_action, read_answer, read_giving_up, told_answer
from agentgym.env.control import GIVE_UP, SUBMIT
from agentgym.env.parts import EpisodeParts
from agentgym.env.survival import survived
from agentgym.errors import ActionError
from agentgym.records import Action, Effect, Observation
from agentgym.verify.giving_up import told_give_up


@dataclass(slots=True)
class Execution:
    """The actions of one episode.

    Attributes:
        parts: The parts of the episode.
        answer: Argument of ``submit``, None before.
        gave_up: The reason given to ``give_up``, None before.
    """

    parts: EpisodeParts
    answer: str | None = None
    gave_up: str | None = None

    async def act(self, action: Action) -> tuple[Observation, bool]:
        """Execute an action; return its observation, and whether it ends the episode.

        An illegal action is an observation.

        Raises:
            SurfaceEndedError, SandboxEndedError: The episode ends and is judged.
            AgentGymError: A failure that the agent did not cause; see `agentgym.env.survival`.
        """
        parts = self.parts
        environment = parts.environment
        try:
            if action.tool == "" and action.arguments.keys() == {"malformed"}:
                raise ActionError(str(action.arguments["malformed"])[:200])
            if action.tool == SUBMIT.name:
                return await self._submit(action, read_answer(environment.answer, action))
            if action.tool == GIVE_UP.name:
                said = read_giving_up(action)
                self.gave_up = said.reason
                return Observation(text=told_give_up(said)), True
            manifest = parts.instance.task.manifest
            check_action(action, environment.tools, replies=manifest.replies)
        except ActionError as error:
            return Observation(text=f"error: {error}", effect=Effect.ERROR), False
        call = parts.calls[action.tool]
        seen = await parts.dynamics.call(action, lambda legal: survived(call, legal))
        return seen, parts.ended

    async def _submit(self, action: Action, answer: str) -> tuple[Observation, bool]:
        parts = self.parts
        if parts.rules is not None:
            following = await parts.rules.submit(parts.sandbox, answer)
            if following is not None:
                return Observation(text=following), False
        self.answer = answer
        return Observation(text=told_answer(parts.environment.answer, action, answer)), True
