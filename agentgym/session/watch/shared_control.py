"""An agent that lets a person take over: both act in one episode, recorded in the same way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from agentgym.protocols import Agent
from agentgym.records import Briefing, Decision, Observation, Step, ToolSpec
from agentgym.session.watch.live import PERSON, Live


class SharedControl:
    """Asks an agent, or the person who has taken over.

    A person who takes over while the agent thinks interrupts it. An agent that acts again gets the
    whole history, the person's steps included.

    Args:
        agent: The agent; None if the person acts alone.
        live: What the pages show and ask for.
        name: Spec of the agent, which the pages show.
    """

    def __init__(self, agent: Agent | None, live: Live, name: str) -> None:
        self._agent, self._live, self._name = agent, live, name
        live.has_agent = agent is not None
        self.privileged = bool(getattr(agent, "privileged", False))

    async def start(self, briefing: Briefing) -> None:
        """Show the task, and begin."""
        self._live.begin(
            {
                "task": briefing.task,
                "instruction": briefing.instruction,
                "seed": briefing.seed,
                "agent": self._name,
            }
        )
        if self._agent is None:
            self._live.take_over(person=True)
        else:
            await self._agent.start(briefing)

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Return what the agent decides, or what the person does."""
        live = self._live
        live.offer(tools)
        await live.show(observation)
        while True:
            if live.person_acts or self._agent is None:
                action = await live.next_action()
                if action is not None:
                    return Decision(action, thought=PERSON, generations=())
            else:
                decision = await self._undisturbed(self._agent, observation, tools, history)
                if decision is not None:
                    # No agent passes for the person.
                    forged = decision.thought == PERSON
                    return replace(decision, thought="") if forged else decision

    async def _undisturbed(
        self,
        agent: Agent,
        observation: Observation,
        tools: Sequence[ToolSpec],
        history: Sequence[Step],
    ) -> Decision | None:
        """Return the agent's decision; None if the person took over before it came."""
        deciding = asyncio.ensure_future(agent.act(observation, tools, history))
        try:
            while not deciding.done() and not self._live.person_acts:
                asked = asyncio.ensure_future(self._live.changed())
                try:
                    await asyncio.wait({deciding, asked}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    asked.cancel()
            return await deciding if deciding.done() else None
        finally:
            if not deciding.done():
                deciding.cancel()
                await asyncio.wait({deciding})

    async def close(self) -> None:
        """Close the agent. Never raises."""
        if self._agent is not None:
            await self._agent.close()
