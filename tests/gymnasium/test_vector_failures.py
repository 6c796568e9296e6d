"""Lanes of a vector environment that break, hang or cannot start: the others go on."""

import asyncio

import numpy as np
import pytest
from fake_environment import WORDS, FakeEnvironment, FakeEpisode, Transition, say
from fake_lanes import (
    LANES,
    MODES,
    BreakingEnvironment,
    BreakingEpisode,
    of_lane,
    same,
    seen,
    submit,
    until_closed,
)
from gymnasium.spaces import Dict
from gymnasium.vector import AutoresetMode

from agentgym.errors import (
    SandboxDiedError,
    SurfaceError,
    TaskError,
    VerifierError,
)
from agentgym.gymnasium import lane as lanes
from agentgym.records import CheckpointResult, CheckStatus, Observation, Phase, Verdict


@pytest.mark.parametrize(
    ("broken", "status", "said"),
    [
        (SandboxDiedError("it is gone"), "error:sandbox", "it is gone"),
        (VerifierError("a check is broken"), "error:verifier", "a check is broken"),
        (RuntimeError("a bug"), "error:engine", "RuntimeError: a bug"),
        (SurfaceError("\ud800" * 9_000), "error:surface", "?" * 1_000),
        (
            Transition(
                Observation("x", image=np.zeros((9, 9, 3), np.uint8)), 0.0, False, False, None
            ),
            "error:surface",
            "image of (9, 9, 3)",
        ),
        (seen("x", data={"a": object()}), "error:engine", ""),
        (Transition("no observation", 1.0, True, False, None), "error:engine", "AttributeError"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_lane_that_breaks_takes_no_neighbour_down(made, broken, status, said, mode):
    breaking = BreakingEnvironment(4, {"break": broken})
    envs, untouched = made(breaking, autoreset_mode=mode), made(autoreset_mode=mode)
    envs.reset(seed=0), untouched.reset(seed=0)
    observations, rewards, terminated, truncated, infos = envs.step(
        [say("a"), say("break"), submit(WORDS[2])]
    )
    expected = untouched.step([say("a"), submit(), submit(WORDS[2])])
    assert rewards.tolist() == [0.0, 0.0, 1.0]
    assert terminated.tolist() == [False, False, True]
    assert truncated.tolist() == [False, True, False]
    ended = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
    assert ended["status"][1].startswith(status)
    assert said in ended["error"][1]
    assert ended["scored"].tolist() == [False, False, True]
    assert ended["_scored"].tolist() == [False, True, True]
    assert ended["_verdict"].tolist() == [False, False, True]
    assert observations in envs.observation_space
    for lane in (0, 2):
        if mode is not AutoresetMode.SAME_STEP or lane == 0:
            assert same(of_lane(observations, lane), of_lane(expected[0], lane))
    assert sum(episode.closed for episode in breaking.begun) >= 1
    if mode is AutoresetMode.DISABLED:
        envs.reset(options={"reset_mask": np.array([False, True, True])})
    observations, _, _, truncated, _ = envs.step([say("x"), say("y"), say("z")])
    assert observations["text"][0] == "x" and not truncated.any()


@pytest.mark.parametrize("mode", MODES)
def test_an_unscored_verdict_gives_no_reward_and_no_verdict(made, mode):
    check = CheckpointResult("rows", Phase.OUTCOME, CheckStatus.ERROR, 0.0, 1.0, "KeyError: x")
    verdict = Verdict("error:verifier", True, 0.7, checkpoints=(check,))
    done = Transition(Observation("submitted"), 0.7, True, False, verdict)
    envs = made(BreakingEnvironment(4, {"break": done}), autoreset_mode=mode)
    envs.reset(seed=0)
    observations, rewards, terminated, truncated, infos = envs.step([say("break")] + [say("a")] * 2)
    assert (rewards[0], terminated[0], truncated[0]) == (0.0, False, True)
    ended = infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos
    assert (ended["status"][0], ended["scored"][0]) == ("error:verifier", False)
    assert ended["error"][0].endswith("checkpoint 'rows': KeyError: x")
    assert "verdict" not in ended
    last = infos["final_obs"][0] if mode is AutoresetMode.SAME_STEP else of_lane(observations, 0)
    assert last["text"] == "submitted"


def test_a_start_that_fails_ends_the_next_step(made):
    envs = made(BreakingEnvironment(4, starts={1: TaskError("the setup is broken")}))
    observations, infos = envs.reset(seed=0)
    assert observations in envs.observation_space
    assert infos["status"].tolist() == [None, "error:task", None]
    assert infos["_scored"].tolist() == [False, True, False]
    assert infos["seed"].tolist() == [0, 1, 2]
    _, rewards, terminated, truncated, infos = envs.step([say("a")] * LANES)
    assert rewards.tolist() == [0.0] * LANES and not terminated.any()
    assert truncated.tolist() == [False, True, False]
    assert infos["error"][1] == "the setup is broken" and not infos["scored"][1]
    observations, _, _, truncated, infos = envs.step([say("a")] * LANES)
    assert not truncated.any() and "status" not in infos
    assert observations["text"][1].startswith("Submit ")


def test_a_lane_that_hangs_ends_alone(made, monkeypatch):
    monkeypatch.setattr(lanes, "GRACE_S", 0.2)
    environment = BreakingEnvironment(4, {"break": "hang"}, starts={2: "late"})
    envs = made(environment, timeout_s=0.6, autoreset_mode="Disabled")
    _, infos = envs.reset(seed=0)
    assert infos["status"].tolist() == [None, None, "error:sandbox"]
    observations, rewards, _, truncated, infos = envs.step([say("a"), say("break"), say("b")])
    assert truncated.tolist() == [False, True, True]
    # The agent decides how long a call takes, so its episode is judged.
    assert infos["status"].tolist() == [None, "scored", "error:sandbox"]
    assert rewards.tolist() == [0.0, 0.25, 0.0]
    assert "a step did not end within 0.6 s" in observations["text"][1]
    assert observations["text"][0] == "a"
    # The start that came too late is not left open.
    assert len(environment.begun) == 3
    asyncio.run(asyncio.wait_for(until_closed(environment.begun[2:]), 20))


@pytest.mark.parametrize("slow", ["judgement", "user", "sandbox"])
def test_a_lane_that_hangs_without_the_agent_is_unscored(made, monkeypatch, slow):
    class Slow(BreakingEpisode):
        async def step(self, decision):
            try:
                return await super().step(decision)
            finally:
                self.waited_s += float(slow == "user")
                self.over = slow == "judgement"

        async def finish(self):
            await asyncio.sleep(3600)

    monkeypatch.setattr(lanes, "GRACE_S", 0.2)
    monkeypatch.setattr(lanes, "MORE_S", 0.2)
    environment = BreakingEnvironment(4, {"break": "hang"})
    environment.episode_type = Slow
    envs = made(environment, timeout_s=0.3, autoreset_mode="Disabled")
    envs.reset(seed=0)
    _, rewards, _, truncated, infos = envs.step([say("a"), say("break"), say("b")])
    assert truncated.tolist() == [False, True, False] and rewards[1] == 0.0
    assert infos["status"][1] == "error:sandbox" and not infos["scored"][1]


@pytest.mark.parametrize("what", ["over", "asks_user"])
async def test_a_judgement_and_a_user_have_time_of_their_own(what):
    class Judged(FakeEpisode):
        async def step(self, decision):
            setattr(self, what, True)
            await judged.wait()
            return await super().step(decision)

    environment, judged = FakeEnvironment(1), asyncio.Event()
    lane = lanes.Lane(environment, Dict({}), timeout_s=0.01)
    asyncio.get_running_loop().call_later(0.1, judged.set)
    done = await lane._stepped(Judged(environment, 0), say("a"))
    assert done.verdict.scored and "did not end" not in done.observation.text
