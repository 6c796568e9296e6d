"""Wrappers that show an environment to learners made for numbers."""

import warnings

import gymnasium
import numpy as np
import pytest
from fake_environment import make_fake
from gymnasium.utils.env_checker import check_env

from agentgym.errors import ActionError
from agentgym.gymnasium.wrappers import ByteText, DiscreteCalls
from agentgym.records import Action

CALLS = [
    Action("say", {"text": "\u20ac"}),
    {"tool": "submit", "arguments": {"answer": "plain"}},
    {"tool": "submit"},
]


def wrapped(length=64):
    return ByteText(DiscreteCalls(make_fake(), CALLS), length)


def test_numbers_make_calls():
    env = wrapped()
    assert env.action_space == gymnasium.spaces.Discrete(3)
    env.reset(seed=3)
    observation, reward, terminated, *_ = env.step(np.int64(0))
    assert bytes(observation) == "\u20ac".encode() + b"\0" * 61
    assert (reward, terminated) == (0.0, False)
    _, reward, terminated, *_ = env.step(1)
    assert (reward, terminated) == (1.0, True)
    env.close()


def test_text_becomes_bytes_and_keeps_its_end():
    env = wrapped(length=8)
    observation, _ = env.reset(seed=3)
    assert observation.dtype == np.uint8
    assert observation in env.observation_space
    assert bytes(observation) == b"t plain."
    observation[0] = 0
    assert bytes(env.observation({"text": ""})) == b"\0" * 8
    assert bytes(env.observation({"text": "12345678"})) == b"12345678"
    env.close()


def test_calls_that_cannot_be_made_are_refused_at_once():
    with pytest.raises(ActionError, match=r"calls\[1\].*shout"):
        DiscreteCalls(make_fake(), [CALLS[0], {"tool": "shout"}])
    with pytest.raises(ActionError, match=r"calls\[0\]"):
        DiscreteCalls(make_fake(), [{"tool": "say", "arguments": {}}])
    with pytest.raises(ActionError, match="at least one"):
        DiscreteCalls(make_fake(), [])
    with pytest.raises(ActionError, match="unknown field"):
        DiscreteCalls(make_fake(), [{"name": "say"}])


def test_wrapped_environments_pass_the_checker_and_can_be_made_again():
    env = wrapped()
    env.unwrapped.spec = gymnasium.envs.registration.EnvSpec(
        "agentgym/fake.echo-v1",
        entry_point="fake_environment:make_fake",
        order_enforce=False,
        disable_env_checker=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
        check_env(env)
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.action_space == env.action_space
    assert again.observation_space == env.observation_space
    again.close()


@pytest.mark.full  # tests/e2e trains on a real sandbox in every test run
def test_ppo_learns_the_call_that_wins(tmp_path, monkeypatch):
    # The trainer logs to the temporary folder, and leaves it there.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sb3 = pytest.importorskip("stable_baselines3", reason="trains with Stable-Baselines3's PPO")
    env = ByteText(DiscreteCalls(make_fake(max_steps=4), CALLS), 32)
    with warnings.catch_warnings():
        # What this test is about is ours; torch and its users warn about themselves.
        warnings.simplefilter("default")
        model = sb3.PPO("MlpPolicy", env, n_steps=16, batch_size=16, seed=0, device="cpu")
        model.learn(total_timesteps=64)
        action, _ = model.predict(env.reset(seed=3)[0], deterministic=True)
    assert model.num_timesteps == 64
    assert action in env.action_space
    assert model.ep_info_buffer, "no episode was finished"
    env.close()
