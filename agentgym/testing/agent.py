"""The contract suite of `agentgym.protocols.Agent`, which every policy must pass.

Subclass `AgentContract` in a test module; pytest finds the inherited tests. The episodes here
need no sandbox: the world answers each call with a line that names it.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Sequence

from agentgym.protocols import Agent
from agentgym.records import Action, Briefing, Decision, Effect, Observation, Step, ToolSpec

TOOLS = (
    ToolSpec(
        "bash",
        "Run a command.",
        {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
            "additionalProperties": False,
        },
    ),
    ToolSpec("look", "Look around.", {"type": "object", "properties": {}}),
    ToolSpec(
        "submit",
        "Say that the task is done.",
        {"type": "object", "properties": {"answer": {"type": "string"}}},
    ),
    ToolSpec(
        "give_up",
        "Say that the task cannot be done.",
        {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]},
    ),
)
BRIEFING = Briefing(
    task="contract/echo-v1",
    instruction="Say hello, then submit.",
    seed=7,
    max_steps=6,
    reference_actions=(
        Action("bash", {"command": "echo hello"}),
        Action("submit", {"answer": "hello"}),
    ),
)
FIRST = Observation(BRIEFING.instruction)


def answer(action: Action) -> Observation:
    """Return the observation of this suite's world after an action."""
    return Observation(f"{action.tool}: {sorted(action.arguments)}", effect=Effect.CHANGED)


async def play(agent: Agent, history: Sequence[Step] = ()) -> list[Step]:
    """Go on from a history until the agent submits, gives up or has no steps left."""
    steps = list(history)
    await agent.start(BRIEFING)
    while len(steps) < BRIEFING.max_steps:
        decision = await agent.act(steps[-1].observation if steps else FIRST, TOOLS, tuple(steps))
        steps.append(Step(len(steps), decision, answer(decision.action)))
        await asyncio.sleep(0)  # lets a concurrent episode take its turn
        if decision.action.tool in ("submit", "give_up"):
            break
    return steps


def actions(steps: Sequence[Step]) -> list[Action]:
    """Return the actions, without their cost."""
    return [step.action for step in steps]


class AgentContract:
    """Tests that every agent passes.

    Example:
        >>> from agentgym.agents.noop import NoopAgent
        >>> class TestNoop(AgentContract):
        ...     def make(self) -> Agent:
        ...         return NoopAgent()
        >>> TestNoop().test_the_same_arguments_give_the_same_action()
    """

    def make(self) -> Agent:
        """Return a new agent. Called once for each episode."""
        raise NotImplementedError

    def _episode(self, history: Sequence[Step] = ()) -> list[Step]:
        async def episode() -> list[Step]:
            agent = self.make()
            try:
                return await play(agent, history)
            finally:
                await agent.close()

        return asyncio.run(episode())

    def test_decisions_are_records(self) -> None:
        """An action names a tool, and everything in a decision survives JSON."""
        for step in self._episode():
            decision = step.decision
            assert isinstance(decision, Decision)
            assert decision.action.tool
            assert Action.from_json(json.loads(json.dumps(decision.action.to_json())))
            assert json.loads(json.dumps(decision.reply)) == decision.reply
            assert isinstance(decision.thought, str)
            assert min(decision.usage.prompt, decision.usage.completion, decision.usage.cached) >= 0

    def test_the_same_arguments_give_the_same_action(self) -> None:
        """Two agents in equal episodes take the same actions."""
        assert actions(self._episode()) == actions(self._episode())

    def test_a_resumed_agent_goes_on_as_if_never_interrupted(self) -> None:
        """A new agent that gets the recorded history continues it."""
        whole = self._episode()
        for done in range(len(whole)):
            assert actions(self._episode(whole[:done])) == actions(whole)

    def test_a_history_of_another_agent_is_accepted(self) -> None:
        """An agent accepts a history with steps that it did not choose."""
        other = Action("bash", {"command": "true"})
        history = [Step(0, Decision(other, reply="opaque"), answer(other))]
        assert len(self._episode(history)) > 1

    def test_arguments_are_left_alone(self) -> None:
        """`act` changes neither the tools nor the history."""

        async def act() -> tuple[list[ToolSpec], list[Step]]:
            agent = self.make()
            other = Action("bash", {"command": "true"})
            tools = list(copy.deepcopy(TOOLS))
            history = [Step(0, Decision(other), Observation("done"))]
            try:
                await agent.start(BRIEFING)
                await agent.act(history[-1].observation, tools, history)
            finally:
                await agent.close()
            return tools, history

        tools, history = asyncio.run(act())
        assert tuple(tools) == TOOLS
        assert actions(history) == [Action("bash", {"command": "true"})]
        assert history[0].observation.text == "done"

    def test_episodes_side_by_side_do_not_mix(self) -> None:
        """Agents share no state: concurrent episodes go as they do alone."""

        async def both() -> tuple[list[Step], list[Step]]:
            one, two = self.make(), self.make()
            try:
                return await asyncio.gather(play(one), play(two))
            finally:
                await one.close()
                await two.close()

        alone = actions(self._episode())
        first, second = asyncio.run(both())
        assert actions(first) == alone
        assert actions(second) == alone

    def test_close_may_come_early_and_twice(self) -> None:
        """`close` never raises, whether the agent was started or not."""

        async def close() -> None:
            agent = self.make()
            await agent.close()
            await agent.close()

        asyncio.run(close())
