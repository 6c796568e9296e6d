"""The Gymnasium contract of GymEnv, on an environment without a computer."""

import gc
import json
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from fake_environment import WORDS, FakeEnvironment, FakeEpisode, Transition, make_fake, say
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.passive_env_checker import data_shares_objects

from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.env.seeds import read_seed
from agentgym.errors import ConfigError, SandboxDiedError, VerifierError
from agentgym.gymnasium.env import GymEnv
from agentgym.records import (
    Action,
    CheckpointResult,
    CheckStatus,
    Observation,
    ObservationLimits,
    Phase,
    Verdict,
)
from agentgym.sandbox.absent import NoSandboxProvider


@pytest.fixture
def env():
    made = make_fake()
    yield made
    made.close()


def test_gymnasium_s_own_checker_passes_without_warnings(env):
    # A spec lets the checker make the environment again and test every render mode.
    env.spec = gymnasium.envs.registration.EnvSpec(
        "agentgym/fake.echo-v1", entry_point="fake_environment:make_fake"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)


def test_an_episode_that_cannot_be_scored_gives_no_reward(env, monkeypatch):
    broken = CheckpointResult("rows", Phase.OUTCOME, CheckStatus.ERROR, 0.0, 1.0, "KeyError: x")
    verdict = Verdict("error:verifier", False, 0.0, checkpoints=(broken,))

    async def step(decision):
        return Transition(Observation("submitted"), 0.0, True, False, verdict)

    env.reset(seed=0)
    monkeypatch.setattr(env.episode, "step", step)
    with pytest.raises(VerifierError, match="cannot be scored: checkpoint 'rows': KeyError: x"):
        env.step({"tool": "submit", "arguments": {}})
    with pytest.raises(ResetNeeded):
        env.step({"tool": "submit", "arguments": {}})


def test_an_episode(env):
    observation, info = env.reset(seed=3)
    assert observation["text"] == info["instruction"] == "Submit plain."
    assert observation["data"] == {"cwd": "/root", "step": 0}
    assert info["task"] == "fake/echo-v1"
    assert (info["seed"], info["params"]) == (3, {"word": "plain", "seed": 3})
    observation, reward, terminated, truncated, info = env.step(say("\U0001f600"))
    assert (observation["text"], reward, terminated, truncated) == ("\U0001f600", 0.0, False, False)
    assert observation in env.observation_space
    assert info["effect"] == "changed"
    assert "verdict" not in info
    *_, reward, terminated, truncated, info = env.step(
        {"tool": "submit", "arguments": {"answer": "plain"}}
    )
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert type(reward) is float
    assert info["verdict"] == {
        "words": "",
        "status": "scored",
        "outcome": True,
        "score": 1.0,
        "process": None,
        "safety_violations": [],
        "checkpoints": [],
        "state_hash": "",
        "bonus": None,
        "uncontrollable": [],
        "verifier": "",
    }
    assert json.loads(json.dumps(info)) == info


def test_running_out_of_steps_truncates():
    env = make_fake(max_steps=2)
    env.reset(seed=0)
    assert env.step(say("a"))[2:4] == (False, False)
    *_, terminated, truncated, info = env.step(say("b"))
    assert (terminated, truncated) == (False, True)
    assert info["verdict"]["outcome"] is False
    env.close()


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ({"tool": "shout", "arguments": {}}, "'shout'"),
        ({"tool": "say", "arguments": {"text": 5}}, "arguments.text"),
        ({"tool": "say", "arguments": {"text": "\ud800"}}, "surrogate"),
        ({"tool": "say", "arguments": {"text": "a\0"}}, "NUL"),
        ({"tool": "say", "arguments": {"text": "x" * 2**21}}, "1048576"),
        ({"tool": "say", "arguments": "hello"}, "must be an object"),
        ({"tool": "say", "arguments": {"text": "a"}, "why": "?"}, "why"),
        ({"name": "say"}, "unknown field"),
        ("say hello", "str"),
        (0, "int"),
        (None, "NoneType"),
        (np.zeros(2), "ndarray"),
    ],
)
def test_an_illegal_action_costs_a_step_and_says_why(env, action, said):
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(action)
    assert said in observation["text"]
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["effect"] == "error"
    assert observation in env.observation_space
    assert len(env.episode.steps) == 1


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        (None, "an action is an object with 'tool' and 'arguments', not NoneType"),
        ("ls", "an action is an object with 'tool' and 'arguments', not str"),
        ({}, "an action needs 'tool', the name of the tool to call"),
    ],
)
def test_what_is_no_action_is_answered_by_the_plain_complaint(env, action, complaint):
    env.reset(seed=0)
    assert env.step(action)[0]["text"] == f"error: {complaint}"


def test_tools_come_in_the_form_of_two_apis(env):
    tools = env.environment.tools
    openai, anthropic = env.tool_schemas(), env.tool_schemas("anthropic")
    assert len(openai) == len(anthropic) == len(tools) > 1
    say = next(number for number, tool in enumerate(tools) if tool.name == "say")
    assert openai[say]["type"] == "function" and openai[say]["function"]["name"] == "say"
    assert anthropic[say].keys() == {"name", "description", "input_schema"}
    assert openai[say]["function"]["parameters"] == anthropic[say]["input_schema"]
    assert anthropic[say]["input_schema"]["properties"]["text"]
    assert json.loads(json.dumps(anthropic)) == anthropic
    with pytest.raises(ConfigError, match="no form of tools named 'openia'; did you mean 'openai'"):
        env.tool_schemas("openia")


def test_actions_may_be_records(env):
    env.reset(seed=0)
    assert env.step(Action("say", {"text": "a"}))[0]["text"] == "a"


def test_seeds_decide_the_episode(env):
    def words(count):
        return [env.reset()[1]["params"]["word"] for _ in range(count)]

    env.reset(seed=5)
    after_five = words(10)
    env.reset(seed=6)
    assert words(10) != after_five
    env.reset(seed=5)
    assert words(10) == after_five
    assert len(set(after_five)) > 1
    assert env.reset(seed=2)[1]["params"]["word"] == WORDS[2]


def test_the_seed_given_at_the_start_is_that_of_the_first_episode():
    def seeds(env):
        return [env.reset()[1]["seed"] for _ in range(3)]

    first, again, other = (seeds(make_fake(seed=seed)) for seed in (7, 7, 8))
    assert first == again
    assert first[0] == 7
    assert len(set(first)) == 3
    assert (other[0], other[1:] != first[1:]) == (8, True)
    assert make_fake(seed=7).reset(seed=1)[1]["seed"] == 1


@pytest.mark.parametrize("seed", [-1, "x", 1.5])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(ConfigError, match=f"seed: .*integer from 0 on, got {seed!r}"):
        make_fake(seed=seed)


@pytest.mark.parametrize("seed", [2**1024, 2**20_000], ids=["1025 bits", "huge"])
def test_a_huge_seed_is_refused(seed):
    told = f"got one of {seed.bit_length():,} bits; a seed has at most 1,024"
    with pytest.raises(ConfigError, match=told):
        read_seed(seed)
    with pytest.raises(ConfigError, match=told):
        make_fake(seed=seed)


def test_the_slots_are_as_large_as_the_environment_says():
    environment = FakeEnvironment()
    environment.observation_limits = ObservationLimits(100_000, 90_000, 1_920, 1_080)
    space = GymEnv(environment).observation_space
    assert "\U0001f600" * 25_000 in space["text"]
    assert "\U0001f600" * 25_000 + "x" not in space["text"]
    assert np.zeros((1_080, 1_920, 3), np.uint8) in space["image"]
    assert np.zeros((1_081, 1_920, 3), np.uint8) not in space["image"]
    assert {"tree": "x" * 80_000} in space["data"]
    assert {"tree": "x" * 90_000} not in space["data"]


def test_nothing_returned_is_shared_with_a_later_step(env):
    kept = env.reset(seed=0)
    for _ in range(2):
        observation, *_, info = env.step(say("a"))
        assert not data_shares_objects(kept, (observation, info))
        kept = (observation, info)
    kept[1]["params"]["word"] = "spoilt"
    assert env.step(say("a"))[4]["params"]["word"] == WORDS[0]


def test_steps_outside_an_episode_are_refused(env):
    with pytest.raises(ResetNeeded, match="none has begun.*reset"):
        env.step(say("a"))
    env.reset(seed=0)
    env.step({"tool": "submit"})
    with pytest.raises(ResetNeeded, match="has ended.*reset"):
        env.step(say("a"))
    env.reset(seed=0)
    assert env.step(say("a"))[0]["text"] == "a"


def test_a_reset_that_fails_leaves_no_episode():
    class Broken(FakeEnvironment):
        async def start(self, seed, *, alone=False):
            if seed == 1:
                raise OSError("no space left")
            return await super().start(seed)

    env = GymEnv(Broken())
    env.reset(seed=0)
    with pytest.raises(OSError, match="no space"):
        env.reset(seed=1)
    with pytest.raises(ResetNeeded):
        env.step(say("a"))
    env.close()


def test_a_step_that_fails_ends_the_episode():
    class Dying(FakeEpisode):
        async def step(self, decision):
            raise SandboxDiedError("the sandbox is gone")

    environment = FakeEnvironment()
    environment.episode_type = Dying
    env = GymEnv(environment)
    env.reset(seed=0)
    with pytest.raises(SandboxDiedError):
        env.step(say("a"))
    with pytest.raises(ResetNeeded):
        env.step(say("a"))
    env.close()


def test_rendering():
    env = make_fake(render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.render()
    env.reset(seed=3)
    assert env.render() == "Submit plain."
    env.step(say("a\nb"))
    assert env.render() == "a\nb"
    env.close()
    silent = make_fake()
    silent.reset(seed=3)
    assert silent.render() is None
    with pytest.raises(ConfigError, match="'human'.*'ansi'"):
        make_fake(render_mode="human")


def test_a_reset_closes_the_episode_before(env):
    env.reset(seed=0)
    first = env.episode
    env.reset(seed=0)
    assert (first.closed, env.episode.closed) == (1, 0)


def test_options_are_refused_not_ignored(env):
    env.reset(options={})
    with pytest.raises(ConfigError, match="'difficulty'"):
        env.reset(options={"difficulty": 3})


def test_closing_twice_closes_once():
    env = make_fake()
    env.reset(seed=0)
    env.close()
    env.close()
    assert env.environment.closed == 1
    with pytest.raises(ClosedEnvironmentError):
        env.reset()
    with pytest.raises(ResetNeeded):
        env.step(say("a"))


def test_an_environment_that_is_dropped_is_closed():
    closed = threading.Event()

    class Watched(FakeEnvironment):
        async def close(self):
            closed.set()

    env = GymEnv(Watched())
    env.reset(seed=0)
    del env
    gc.collect()
    assert closed.wait(30)


DROPPED_AT_EXIT = """
import sys
sys.path.insert(0, sys.argv[1])
from fake_environment import make_fake
kept = make_fake()
kept.reset(seed=0)
cycle = [make_fake()]
cycle[0].reset(seed=0)
cycle.append(cycle)
"""


def test_environments_that_are_left_open_do_not_disturb_the_end():
    done = subprocess.run(
        [sys.executable, "-c", DROPPED_AT_EXIT, str(Path(__file__).parents[1])],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_it_runs_inside_a_running_loop():
    import asyncio

    async def notebook_cell():
        with make_fake() as env:
            env.reset(seed=0)
            return env.step(say("cell"))[0]["text"]

    assert asyncio.run(notebook_cell()) == "cell"


def test_the_callers_objects_are_not_those_of_the_episode():
    """A trainer that fills one object again for each call changes no earlier step."""
    env = GymEnv(Environment(load_built("tools/largest-debtors-v1"), NoSandboxProvider()))
    action = {"tool": "contacts_search", "arguments": {"text": "an", "more": [{"deep": 1}]}}
    env.reset(seed=1)
    env.step(action)
    action["arguments"]["text"] = "other"
    action["arguments"]["more"][0]["deep"] = 2
    (step,) = env.episode.steps
    assert step.action.arguments == {"text": "an", "more": [{"deep": 1}]}
    picture = np.zeros((2, 2, 3), np.uint8)
    shown = env._observe(Observation("a picture", picture))["image"]
    shown += 1
    assert not picture.any()
    env.close()
