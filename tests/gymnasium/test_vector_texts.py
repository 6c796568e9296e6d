"""Vector environments with default arguments: every text must arrive as it was sent."""

from functools import partial

import numpy as np
import pytest
from fake_environment import WORDS, FakeEnvironment, make_fake, say
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")

KINDS = {
    "sync": SyncVectorEnv,
    "async": AsyncVectorEnv,
    "async-pipes": partial(AsyncVectorEnv, shared_memory=False),
    "async-spawn": partial(AsyncVectorEnv, context="spawn"),
    "async-forkserver": partial(AsyncVectorEnv, context="forkserver"),
    "async-same-step": partial(AsyncVectorEnv, autoreset_mode="SameStep"),
}
TEXTS = [
    "",
    "caf\u00e9 \u6f22\u5b57 \U0001f600 \U0010ffff",
    "tab\tand\r\nlines\x1b[0m",
    "x" * 65_536,
]


# A process that is spawned shares even less than one of a fork server.
SELDOM = {"async-forkserver": pytest.mark.full}


@pytest.fixture(params=[pytest.param(kind, marks=SELDOM.get(kind, ())) for kind in KINDS])
def envs(request):
    made = KINDS[request.param]([make_fake] * 3)
    yield made
    made.close()


def test_observations_arrive_exactly(envs):
    observations, infos = envs.reset(seed=1)
    assert observations in envs.observation_space
    assert observations["text"] == tuple(f"Submit {WORDS[seed]}." for seed in (1, 2, 3))
    assert observations["data"] == ({"cwd": "/root", "step": 0},) * 3
    assert observations["image"].shape == (3, 1, 1, 3)
    assert infos["seed"].tolist() == [1, 2, 3]
    assert infos["params"]["word"].tolist() == [WORDS[1], WORDS[2], WORDS[3]]
    kept = observations
    for number in range(len(TEXTS)):
        texts = tuple(TEXTS[(number + lane) % len(TEXTS)] for lane in range(3))
        observations, rewards, terminated, truncated, infos = envs.step(tuple(map(say, texts)))
        assert observations in envs.observation_space
        assert observations["text"] == texts
        assert [data["step"] for data in observations["data"]] == [number + 1] * 3
        assert rewards.tolist() == [0.0] * 3
        assert not terminated.any() and not truncated.any()
        assert infos["effect"].tolist() == ["changed"] * 3
    assert kept["text"] == tuple(f"Submit {WORDS[seed]}." for seed in (1, 2, 3))


def test_sampled_actions_step_every_lane(envs):
    envs.reset(seed=0)
    envs.action_space.seed(4)
    for _ in range(15):
        actions = envs.action_space.sample()
        observations, *_ = envs.step(actions)
        for action, text in zip(actions, observations["text"], strict=True):
            if action["tool"] == "say" and not text.startswith("Submit"):
                assert text == action["arguments"]["text"]


def test_ended_lanes_begin_again(envs):
    envs.reset(seed=0)
    win = {"tool": "submit", "arguments": {"answer": WORDS[1]}}
    _, rewards, terminated, _, infos = envs.step((say("a"), win, say("c")))
    assert rewards.tolist() == [0.0, 1.0, 0.0]
    assert terminated.tolist() == [False, True, False]
    final = infos.get("final_info", infos)
    assert final["verdict"]["outcome"].tolist() == [False, True, False]
    assert final["_verdict"].tolist() == [False, True, False]
    observations, *_ = envs.step((say("a"), say("b"), say("c")))
    assert observations["text"][0] == "a"
    assert observations["text"][1].startswith("Submit ") or "final_info" in infos


@pytest.mark.filterwarnings("ignore:.*ERROR:UserWarning")
@pytest.mark.parametrize("kind", ["async", "async-spawn"])
def test_text_beyond_its_slot_is_an_error_and_never_garbage(kind):
    envs = KINDS[kind]([make_fake] * 2)
    envs.reset(seed=0)
    fill = {"tool": "fill", "arguments": {"character": "\U0001f600", "times": 10_000}}
    observations, *_ = envs.step((fill, say("b")))
    assert observations["text"] == ("\U0001f600" * 10_000, "b")
    too_long = FakeEnvironment().observation_limits.text_bytes + 1
    with pytest.raises(ValueError, match=f"{too_long} bytes"):
        envs.step((say("x" * too_long), say("b")))
    envs.close(terminate=True)


def test_the_live_view_of_copy_false_follows_the_lanes():
    envs = AsyncVectorEnv([make_fake] * 2, copy=False)
    first, _ = envs.reset(seed=0)
    second, *_ = envs.step((say("a"), say("b")))
    assert second["text"] is first["text"]
    assert list(first["text"]) == ["a", "b"]
    assert np.shares_memory(first["image"], second["image"])
    envs.close()
