"""Stable-Baselines3 over lanes: its own algorithm, ends of all kinds, and missing data."""

import warnings

import numpy as np
import pytest
from fake_environment import FakeEnvironment, FakeEpisode

from agentgym.errors import ActionError, ConfigError, SandboxError
from agentgym.gymnasium import registration
from agentgym.gymnasium.vector import VectorEnvironment

pytest.importorskip("stable_baselines3", reason="the bridge to Stable-Baselines3")
bridge = pytest.importorskip("agentgym.train.bridges.stable_baselines")

SAY = {"tool": "say", "arguments": {"text": "hello"}}
SUBMIT = {"tool": "submit", "arguments": {"answer": "plain"}}  # the word of seed 3
BREAK = {"tool": "say", "arguments": {"text": "break"}}


class BreakingEpisode(FakeEpisode):
    async def step(self, decision):
        if decision == BREAK:
            raise SandboxError("the sandbox died")
        return await super().step(decision)


class BreakingEnvironment(FakeEnvironment):
    episode_type = BreakingEpisode


@pytest.fixture
def lanes():
    made = []

    def make(count=2, mode="SameStep", max_steps=3):
        envs = VectorEnvironment(BreakingEnvironment(max_steps), count, seed=3, autoreset_mode=mode)
        made.append(envs)
        return envs

    with warnings.catch_warnings():
        # Torch and its users warn about themselves, and the lanes render nothing.
        warnings.simplefilter("default")
        yield make
    for envs in made:
        envs.close()


def test_a_step_gives_the_rows_that_the_lanes_give(lanes):
    envs = bridge.ToolCallVecEnv(lanes(), [SAY, SUBMIT], length=8)
    assert envs.reset().shape == (2, 8)
    assert [info["seed"] for info in envs.reset_infos] == [3, 4]
    observations, rewards, dones, infos = envs.step(np.array([0, 1]))
    assert bytes(observations[0]) == b"hello\0\0\0"
    assert (rewards.tolist(), rewards.dtype) == ([0.0, 0.0], np.float32)
    assert dones.tolist() == [False, True]
    assert infos[0]["effect"] == "changed" and "episode" not in infos[0]
    assert infos[1]["episode"]["l"] == 1 and infos[1]["status"] == "scored"
    assert bytes(infos[1]["terminal_observation"]) == b"ubmitted"
    _, rewards, dones, infos = envs.step(np.array([1, 0]))
    assert rewards.tolist() == [1.0, 0.0] and dones.tolist() == [True, False]
    assert (infos[0]["episode"]["r"], infos[0]["episode"]["l"]) == (1.0, 2)
    assert envs.unscored == []


def test_an_episode_that_is_cut_off_and_judged_is_no_guess(lanes):
    envs = bridge.ToolCallVecEnv(lanes(1, max_steps=1), [SAY])
    envs.reset()
    _, _, dones, infos = envs.step(np.array([0]))
    assert dones.tolist() == [True]
    assert infos[0]["TimeLimit.truncated"] is False
    assert infos[0]["episode"]["r"] == 0.0


def test_an_episode_without_a_score_enters_no_mean_and_its_value_is_estimated(lanes):
    envs = bridge.ToolCallVecEnv(lanes(), [SAY, BREAK], length=16)
    envs.reset()
    seen, *_ = envs.step(np.array([0, 0]))
    _, _, dones, infos = envs.step(np.array([1, 0]))
    assert dones.tolist() == [True, False]
    assert infos[0]["TimeLimit.truncated"] is True
    assert "episode" not in infos[0]
    # What the policy saw, not the message about the failure.
    assert infos[0]["terminal_observation"].tolist() == seen[0].tolist()
    assert envs.unscored == ["error:sandbox: the sandbox died"]
    _, _, _, infos = envs.step(np.array([0, 0]))
    assert infos[1]["episode"]["l"] == 3  # the other lane went on as if alone


def test_seeds_are_those_that_are_asked_for(lanes):
    envs = bridge.ToolCallVecEnv(lanes(), [SAY])
    envs.seed(8)
    first = envs.reset()
    assert [info["seed"] for info in envs.reset_infos] == [8, 9]
    envs.seed(8)
    assert envs.reset().tolist() == first.tolist()


def test_wrong_arguments_are_refused(lanes):
    with pytest.raises(ConfigError, match="autoreset_mode='SameStep'"):
        bridge.ToolCallVecEnv(lanes(mode="NextStep"), [SAY])
    with pytest.raises(ActionError, match=r"calls\[1\].*shout"):
        bridge.ToolCallVecEnv(lanes(), [SAY, {"tool": "shout"}])
    with pytest.raises(AttributeError, match="no attributes"):
        bridge.ToolCallVecEnv(lanes(), [SAY]).set_attr("seed", 1)


@pytest.fixture
def own_provider(session_cache):
    registration.shared_provider.cache_clear()
    yield
    registration.shared_provider.cache_clear()


def test_the_example_trains_on_shells(example, own_provider, tmp_path, monkeypatch, capsys):
    # The trainer logs to the temporary folder, and leaves it there.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        model = example("sb3_ppo").main(timesteps=32, lanes=2)
    episodes = list(model.ep_info_buffer)
    assert model.num_timesteps == len(episodes) == 32
    assert {episode["l"] for episode in episodes} == {1}
    # 32 random choices among five folders: some are right, and not all.
    assert 0 < sum(episode["r"] for episode in episodes) < 32
    assert "episodes without a score: 0" in capsys.readouterr().out
