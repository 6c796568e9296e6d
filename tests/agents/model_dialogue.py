"""A dialogue of a model's agent with a server whose replies a test gives."""

import pytest
from chat_server import call, says

from agentgym.agents.openai import OpenAIAgent
from agentgym.testing.agent import BRIEFING, FIRST, TOOLS, play

LOOK = says(call("look", call_id="call_1"))
BASH = says(call("bash", '{"command":  "echo hello"}', "call_2"), content="Now I say hello.")
SUBMIT = says(call("submit", {"answer": "hello"}, "call_3"))
MODES = pytest.mark.parametrize("mode", ["", "?stream=true"], ids=["plain", "streaming"])


async def episode(argument="test", history=()):
    agent = OpenAIAgent(argument)
    try:
        return await play(agent, history)
    finally:
        await agent.close()


async def decide(argument="test", observation=FIRST, history=(), briefing=BRIEFING):
    agent = OpenAIAgent(argument)
    try:
        await agent.start(briefing)
        return await agent.act(observation, TOOLS, history)
    finally:
        await agent.close()


def with_option(mode, option):
    return f"test{mode}&{option}" if mode else f"test?{option}"
