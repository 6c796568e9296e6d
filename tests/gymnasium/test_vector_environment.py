"""Vector environments over environments without a computer: equal to single ones, lane by lane."""

import asyncio
import gc
import itertools
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from fake_environment import TOOLS, WORDS, FakeEnvironment, FakeEpisode, make_fake, say
from fake_lanes import (
    LANES,
    MODES,
    BreakingEnvironment,
    of_lane,
    same,
    submit,
)
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from agentgym.errors import (
    ConfigError,
)
from agentgym.gymnasium.env import GymEnv
from agentgym.gymnasium.spaces import ToolCallSpace
from agentgym.gymnasium.vector import VectorEnvironment
from agentgym.records import ToolSpec


def without_status(infos):
    """Leave out what only vector environments say."""
    own = {"status", "scored", "_status", "_scored"}
    return {
        key: without_status(value) if key == "final_info" else value
        for key, value in infos.items()
        if key not in own
    }


@pytest.mark.parametrize("seed", range(4))
def test_lanes_are_as_single_environments_are(made, seed):
    envs, alone = made(autoreset_mode="Disabled"), [make_fake(4) for _ in range(LANES)]
    envs.action_space.seed(seed)
    observations, infos = envs.reset(seed=seed)
    seeds = [seed + number for number in range(LANES)]
    for _ in range(3):
        begun = [env.reset(seed=one) for env, one in zip(alone, seeds, strict=True)]
        for lane, (observation, info) in enumerate(begun):
            assert same(of_lane(observations, lane), observation)
            assert infos["instruction"][lane] == info["instruction"]
            assert infos["seed"][lane] == info["seed"]
        over = np.zeros(LANES, bool)
        while not over.all():
            drawn = envs.action_space.sample()
            actions = [None if over[lane] else drawn[lane] for lane in range(LANES)]
            observations, rewards, terminated, truncated, infos = envs.step(actions)
            assert observations in envs.observation_space
            for lane in np.flatnonzero(~over):
                single = alone[lane].step(actions[lane])
                row = (rewards[lane], terminated[lane], truncated[lane])
                assert row == single[1:4]
                assert same(of_lane(observations, lane), single[0])
                assert infos["effect"][lane] == single[4]["effect"]
                if "verdict" in single[4]:
                    assert infos["verdict"]["score"][lane] == single[4]["verdict"]["score"]
            over |= terminated | truncated
        observations, infos = envs.reset()
        seeds = [None] * LANES  # each lane draws on, as each single environment does
    for env in alone:
        env.close()


@pytest.mark.parametrize("mode", MODES)
def test_autoreset_is_that_of_gymnasium(made, mode):
    envs = made(autoreset_mode=mode)
    theirs = SyncVectorEnv([lambda: make_fake(4)] * LANES, autoreset_mode=mode)
    assert envs.metadata["autoreset_mode"] is mode
    assert envs.observation_space == theirs.observation_space
    assert envs.action_space == theirs.action_space
    assert same(envs.reset(seed=5), theirs.reset(seed=5))
    assert envs.np_random_seed == theirs.np_random_seed == (5, 6, 7)
    script = itertools.cycle([say("a"), say("b"), say(5), submit(WORDS[1]), say("c"), submit()])
    for _ in range(15):
        actions = tuple(next(script) for _ in range(LANES))
        ours, other = envs.step(actions), theirs.step(actions)
        for one, two in zip(ours[:4], other[:4], strict=True):
            assert same(one, two)
        assert same(without_status(ours[4]), other[4])
        over = ours[2] | ours[3]
        if mode is AutoresetMode.DISABLED and over.any():
            options = {"reset_mask": over}
            assert same(envs.reset(options=options), theirs.reset(options=dict(options)))
            assert "reset_mask" in options
    theirs.close()


def test_lanes_run_at_the_same_time(made):
    together = threading.Barrier(LANES)

    class Meeting(FakeEpisode):
        async def step(self, decision):
            await asyncio.to_thread(together.wait, 20)
            return await super().step(decision)

    environment = FakeEnvironment(4)
    environment.episode_type = Meeting
    envs = made(environment)
    envs.reset(seed=0)
    _, _, _, truncated, _ = envs.step([say("a")] * LANES)
    assert not truncated.any()


def test_seeds(made):
    envs = made(seed=7)
    assert envs.reset()[1]["seed"].tolist() == [7, 8, 9]
    drawn = envs.reset()[1]["seed"].tolist()
    assert envs.reset(seed=7)[1]["seed"].tolist() == [7, 8, 9]
    assert envs.reset()[1]["seed"].tolist() == drawn != [7, 8, 9]
    assert envs.reset(seed=np.array([4, 1, 9]))[1]["seed"].tolist() == [4, 1, 9]
    huge = 2**70
    assert envs.reset(seed=[3, huge, 3])[1]["seed"].tolist() == [3, huge, 3]
    one, two = made(), made()
    assert one.reset()[1]["seed"].tolist() != two.reset()[1]["seed"].tolist()
    assert len(one.np_random) == LANES


@pytest.mark.parametrize(
    ("seed", "error"),
    [
        (-1, ConfigError),
        (1.5, ConfigError),
        ("123", ConfigError),
        (True, ConfigError),
        ([1, 2, -3], ConfigError),
        ([1, 2, "3"], ConfigError),
        ([1, 2], ValueError),
        ([1, 2, 3, 4], ValueError),
    ],
)
def test_wrong_seeds_are_refused_before_anything_begins(made, seed, error):
    environment = BreakingEnvironment()
    envs = made(environment)
    with pytest.raises(error, match="seed"):
        envs.reset(seed=seed)
    assert environment.begun == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"reset_mask": [True, False, True]}, TypeError),
        ({"reset_mask": np.array([1, 0, 1])}, TypeError),
        ({"reset_mask": np.array([True, False])}, ValueError),
        ({"reset_mask": np.zeros(LANES, bool)}, ValueError),
        ({"mask": None}, ConfigError),
    ],
)
def test_wrong_masks_are_refused(made, options, error):
    envs = made(autoreset_mode="Disabled")
    envs.reset(seed=0)
    with pytest.raises(error, match="mask"):
        envs.reset(options=options)
    assert envs.step([say("a")] * LANES)[0]["text"] == ("a",) * LANES


def test_a_mask_begins_some_lanes_and_leaves_the_others(made):
    envs = made(autoreset_mode="Disabled")
    mask = np.array([False, True, False])
    with pytest.raises(ResetNeeded, match="reset all lanes first"):
        envs.reset(options={"reset_mask": mask})
    envs.reset(seed=0)
    first = envs.step([say("a"), submit(), say("c")])[0]
    before = envs.episodes
    observations, infos = envs.reset(seed=[None, 3, None], options={"reset_mask": mask})
    assert observations["text"] == ("a", "Submit plain.", "c")
    assert infos["_seed"].tolist() == mask.tolist() and infos["seed"][1] == 3
    assert [one is two for one, two in zip(before, envs.episodes, strict=True)] == [
        True,
        False,
        True,
    ]
    assert before[1].closed == 1
    observations["data"][0]["step"] = 99
    assert first["data"][0] == {"cwd": "/root", "step": 1}
    waited, _, _, _, infos = envs.step([None, say("b"), None])
    assert waited["data"][0] == {"cwd": "/root", "step": 1}
    assert infos["_effect"].tolist() == [False, True, False]
    assert len(envs.episodes[0].steps) == 1


def test_nothing_is_junk_where_lanes_begin_by_themselves(made):
    envs = made()
    envs.reset(seed=0)
    observations, *_ = envs.step([None, say("a"), 5])
    assert [text[:6] for text in observations["text"]] == ["error:", "a", "error:"]
    assert [len(episode.steps) for episode in envs.episodes] == [1, 1, 1]


@pytest.mark.parametrize(
    ("actions", "error"),
    [
        ([], ValueError),
        ([say("a")] * 2, ValueError),
        ([say("a")] * 4, ValueError),
        (say("a"), TypeError),
        ("abc", TypeError),
        (None, TypeError),
    ],
)
def test_a_wrong_number_of_actions_steps_no_lane(made, actions, error):
    envs = made()
    envs.reset(seed=0)
    with pytest.raises(error, match="expected .*3 actions, one a lane"):
        envs.step(actions)
    assert [episode.steps for episode in envs.episodes] == [[]] * LANES


def test_steps_outside_an_episode_are_refused(made):
    envs = made(autoreset_mode="Disabled")
    with pytest.raises(ResetNeeded):
        envs.step([say("a")] * LANES)
    envs.reset(seed=0)
    envs.step([say("a"), submit(), say("c")])
    with pytest.raises(ResetNeeded, match=r"lanes \[1\] have ended"):
        envs.step([say("a")] * LANES)
    assert len(envs.episodes[0].steps) == 1


def test_tasks_may_differ_from_lane_to_lane(made):
    wait = ToolSpec("wait", "", {"type": "object", "properties": {}})

    class Other(FakeEpisode):
        def __init__(self, environment, seed):
            super().__init__(environment, seed)
            self.instance.params = {"word": {"deep": [1]}, "seed": "five", "more": 2.5}

    other = FakeEnvironment(4)
    other.tools, other.episode_type = (*TOOLS, wait), Other
    other.observation_limits = replace(other.observation_limits, image_width=8, image_height=8)
    same_task = FakeEnvironment(4)
    envs = made([same_task, other, same_task])
    assert envs.action_space[1] == ToolCallSpace(other.tools) != envs.action_space[0]
    observations, infos = envs.reset(seed=0)
    assert observations in envs.observation_space
    assert [picture.shape for picture in observations["image"]] == [(1, 1, 3)] * 3
    assert infos["params"]["word"].tolist() == [WORDS[0], {"deep": [1]}, WORDS[2]]
    assert infos["params"]["seed"].tolist() == [0, "five", 2]
    assert infos["params"]["_more"].tolist() == [False, True, False]
    envs = made([other, same_task, other])
    _, infos = envs.reset(seed=0)
    assert infos["params"]["word"].tolist() == [{"deep": [1]}, WORDS[1], {"deep": [1]}]


@pytest.mark.parametrize(
    ("environments", "num_envs", "options"),
    [
        (None, 0, {}),
        (None, -1, {}),
        (None, None, {}),
        (None, True, {}),
        ([FakeEnvironment()] * 2, 3, {}),
        ([], None, {}),
        (None, 2, {"seed": -1}),
        (None, 2, {"autoreset_mode": "sometimes"}),
        (None, 2, {"timeout_s": 0}),
        (None, 2, {"timeout_s": float("nan")}),
    ],
)
def test_wrong_arguments_are_refused(made, environments, num_envs, options):
    with pytest.raises(ConfigError):
        made(environments, num_envs, **options)


def test_closing(made):
    environment, other = FakeEnvironment(), FakeEnvironment()
    envs = made([environment, other, environment])
    envs.reset(seed=0)
    envs.close()
    envs.close()
    assert (environment.closed, other.closed) == (1, 1)
    with pytest.raises(ClosedEnvironmentError):
        envs.reset()
    with pytest.raises(ClosedEnvironmentError):
        envs.step([say("a")] * LANES)


def test_one_that_is_dropped_is_closed():
    closed = threading.Event()

    class Watched(FakeEnvironment):
        async def close(self):
            closed.set()

    envs = VectorEnvironment(Watched(), 2)
    envs.reset(seed=0)
    del envs
    gc.collect()
    assert closed.wait(30)


def test_an_interruption_ends_all_lanes(made):
    environment = BreakingEnvironment(4, {"break": "hang"})
    envs = made(environment)
    envs.reset(seed=0)
    main = threading.main_thread().ident

    def interrupt():
        assert environment.stuck.wait(20)
        signal.pthread_kill(main, signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        envs.step([say("a"), say("break"), say("b")])
    interrupting.join()
    assert [episode.closed for episode in environment.begun] == [1, 1, 1]
    with pytest.raises(ResetNeeded):
        envs.step([say("a")] * LANES)
    envs.reset(seed=0)
    assert envs.step([say("a")] * LANES)[0]["text"] == ("a",) * LANES


def test_a_lane_is_a_single_environment_in_a_running_loop(made):
    async def inside():
        envs = made()
        return envs.reset(seed=1)[1]["seed"].tolist()

    assert asyncio.run(inside()) == [1, 2, 3]
    assert GymEnv(FakeEnvironment()).reset(seed=1)[1]["seed"] == 1
