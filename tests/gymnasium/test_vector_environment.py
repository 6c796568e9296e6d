"""Vector environments over environments without a computer: equal to single ones, lane by lane."""

import asyncio
import gc
import itertools
import signal
import threading
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from fake_environment import TOOLS, WORDS, FakeEnvironment, FakeEpisode, Transition, make_fake
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.spaces import Dict
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from agentgym.errors import (
    ConfigError,
    SandboxDiedError,
    SurfaceError,
    TaskError,
    VerifierError,
)
from agentgym.gymnasium import lane as lanes
from agentgym.gymnasium.env import GymEnv
from agentgym.gymnasium.spaces import ToolCallSpace
from agentgym.gymnasium.vector import VectorEnvironment
from agentgym.records import CheckpointResult, CheckStatus, Observation, Phase, ToolSpec, Verdict

LANES = 3
MODES = list(AutoresetMode)


def say(text):
    return {"tool": "say", "arguments": {"text": text}}


def submit(answer="wrong"):
    return {"tool": "submit", "arguments": {"answer": answer}}


def seen(text, **parts):
    return Transition(Observation(text, **parts), 0.0, False, False, None)


class BreakingEpisode(FakeEpisode):
    """Raises what the environment holds for the text that is said."""

    async def step(self, decision):
        text = decision["arguments"].get("text") if isinstance(decision, dict) else None
        broken = self.environment.breaks.get(text)
        if broken == "hang":
            self.environment.stuck.set()
            await asyncio.sleep(3600)
        if isinstance(broken, Exception):
            raise broken
        if broken is not None:
            return broken
        return await super().step(decision)


class BreakingEnvironment(FakeEnvironment):
    episode_type = BreakingEpisode

    def __init__(self, max_steps=20, breaks=(), starts=()):
        super().__init__(max_steps)
        self.breaks, self.starts = dict(breaks), dict(starts)
        self.stuck, self.begun = threading.Event(), []

    async def start(self, seed, *, alone=False):
        if seed in self.starts and self.starts[seed] == "late":
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
        elif seed in self.starts:
            raise self.starts[seed]
        self.begun.append(await super().start(seed))
        return self.begun[-1]


@pytest.fixture
def made():
    """Make vector environments that are closed in the end."""
    all_made = []

    def make(environments=None, num_envs=LANES, **options):
        chosen = FakeEnvironment(4) if environments is None else environments
        all_made.append(VectorEnvironment(chosen, num_envs, **options))
        return all_made[-1]

    yield make
    for envs in all_made:
        envs.close()


def without_status(infos):
    """Leave out what only vector environments say."""
    own = {"status", "scored", "_status", "_scored"}
    return {
        key: without_status(value) if key == "final_info" else value
        for key, value in infos.items()
        if key not in own
    }


def of_lane(batched, lane):
    return {key: values[lane] for key, values in batched.items()}


def same(one, other):
    return data_equivalence(one, other, exact=True)


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


async def until_closed(episodes):
    while any(episode.closed != 1 for episode in episodes):
        await asyncio.sleep(0.01)


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
