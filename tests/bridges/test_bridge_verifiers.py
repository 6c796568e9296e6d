"""An episode as the user of an open rollout of verifiers 0.4, whose interface a fake stands for."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_environment import FakeEnvironment, FakeEpisode

from agentgym.errors import ActionError, SandboxError, VerifierError
from agentgym.records import Verdict
from agentgym.train.bridges.text_calls import read_call
from agentgym.train.bridges.verifiers import play

ROOT = Path(__file__).parents[2]
SAY = json.dumps({"tool": "say", "arguments": {"text": "hello"}})
SUBMIT = json.dumps({"tool": "submit", "arguments": {"answer": "plain"}})  # the word of seed 3


class ClosingEpisode(FakeEpisode):
    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await self.close()


class ClosingEnvironment(FakeEnvironment):
    episode_type = ClosingEpisode


@dataclass
class FakeSegment:
    last_reply: str
    terminated: bool = False


class FakeInteraction:
    """Answers with given replies; the rollout is over after the last one."""

    def __init__(self, *replies):
        self._replies, self.messages = list(replies), []

    async def turn(self, message):
        self.messages.append(message)
        if not self._replies:
            return FakeSegment("", terminated=True)
        return FakeSegment(self._replies.pop(0))


async def test_replies_are_calls_and_the_verdict_is_the_reward():
    interaction = FakeInteraction(SAY, f"```json\n{SUBMIT}\n```", SAY)
    verdict = await play(ClosingEnvironment(), 3, interaction)
    assert (verdict.scored, verdict.score) == (True, 1.0)
    assert "Submit plain." in interaction.messages[0] and '"fill"' in interaction.messages[0]
    assert interaction.messages[1:] == ["hello"]


@pytest.mark.parametrize("replies", [(), ("I give up",), (SAY, "[]"), (SAY, "{" * 100_000)])
async def test_a_rollout_that_ends_early_is_judged_as_it_stands(replies):
    assert (await play(ClosingEnvironment(), 3, FakeInteraction(*replies))).score == 0.25


async def test_an_illegal_call_is_answered():
    interaction = FakeInteraction('{"tool": "shout", "arguments": {}}', SUBMIT)
    assert (await play(ClosingEnvironment(), 3, interaction)).score == 1.0
    assert "shout" in interaction.messages[1]


async def test_an_episode_without_a_score_raises():
    environment = ClosingEnvironment()

    class Unscored(ClosingEpisode):
        async def finish(self):
            return Verdict("error:verifier", False, 0.0)

    environment.episode_type = Unscored
    with pytest.raises(VerifierError, match="error:verifier"):
        await play(environment, 3, FakeInteraction())

    class Broken(ClosingEpisode):
        async def step(self, decision):
            raise SandboxError("the sandbox died")

    environment.episode_type = Broken
    with pytest.raises(SandboxError):
        await play(environment, 3, FakeInteraction(SAY))


@pytest.mark.parametrize("reply", ["", "ls", "[1]", "7", "{}", "null", '{"tool": 5}'])
def test_a_reply_that_is_no_call_is_refused(reply):
    with pytest.raises(ActionError):
        read_call(reply)


PROGRAM = """
import asyncio, json, sys
from contextlib import asynccontextmanager
from types import SimpleNamespace
sys.path.insert(0, sys.argv[1])
import verifiers.v1 as vf
from verifiers.v1.agent import Interaction, Segment
from agentgym_verifiers import AgentgymConfig, AgentgymEnv, AgentgymTaskset, AgentgymEnvConfig

assert callable(Interaction.turn) and isinstance(Segment.last_reply, property)
taskset = AgentgymTaskset(AgentgymConfig(id="agentgym_verifiers", task_id=sys.argv[2], seeds=2))
tasks = list(taskset)
env = AgentgymEnv(AgentgymEnvConfig(taskset=taskset.config))
rewards = {}

class Player:
    @asynccontextmanager
    async def interaction(self, task):
        record = lambda name, value: rewards.update({f"{task.data.seed} {name}": value})
        async def turn(message):
            call = {"tool": "submit", "arguments": {}}
            return SimpleNamespace(last_reply=json.dumps(call), terminated=False)
        yield SimpleNamespace(turn=turn, trace=SimpleNamespace(record_reward=record))

for task in tasks:
    asyncio.run(env.run(task, SimpleNamespace(player=Player())))
print(json.dumps(rewards))
"""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(1200)  # an index may be slow
def test_the_example_is_an_environment_of_verifiers(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    install = (python, "-m", "pip", "install", "-q", "-e", ROOT, "verifiers==0.4.0")
    subprocess.run(install, check=True)
    task = ROOT / "examples/tiny-terminal/one-level"
    done = subprocess.run(
        (python, "-c", PROGRAM, ROOT / "examples/bridges", task),
        env={**os.environ, "AGENTGYM_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {"0 score": 0.0, "1 score": 0.0}
