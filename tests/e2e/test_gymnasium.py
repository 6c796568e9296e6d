"""Bundled tasks in real sandboxes, through nothing but Gymnasium's own interfaces."""

import asyncio
import warnings
from copy import deepcopy
from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import agentgym
from agentgym import catalogue
from agentgym.env.portal import portal
from agentgym.gymnasium import registration
from agentgym.record.store import RunStore

TASKS = [task for task in catalogue.folders("tasks") if task.startswith("terminal/")]
TASK = "terminal/data-cleanup-v1"
MIB = 2**20

# Gymnasium's asynchronous vector forks, whatever threads the process has.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.fixture(scope="module", autouse=True)
def own_provider(session_cache):
    """Let no provider of an earlier test answer, made for a cache that has gone."""
    registration.shared_provider.cache_clear()
    yield
    registration.shared_provider.cache_clear()


@pytest.fixture
def env():
    made = agentgym.make(TASK, seed=0)
    yield made
    made.close()


def bash(command):
    return {"tool": "bash", "arguments": {"command": command}}


def gymnasium_id(task):
    return f"agentgym/{task.replace('/', '.')}"


def test_every_task_is_registered():
    assert {gymnasium_id(task) for task in TASKS} <= set(gymnasium.registry)


@pytest.mark.parametrize("task", [TASKS[0], TASKS[-1]])
def test_the_checker_passes_without_warnings(task):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = gymnasium.make(gymnasium_id(task))
        check_env(made.unwrapped)
        made.close()
        env = agentgym.make(task)
        check_env(env.unwrapped)
        env.close()


def test_equal_seeds_are_equal_worlds(env):
    def world(seed):
        observation, info = env.reset(seed=seed)
        files, *_ = env.step(
            bash("find /srv /root /home -type f | sort | xargs -d '\\n' sha256sum")
        )
        return observation["text"], info, files["text"]

    first, other, again = world(3), world(4), world(3)
    assert first == again
    assert first[2] != other[2] and "/srv" in first[2]
    with agentgym.make(TASK) as elsewhere:
        observation, info = elsewhere.reset(seed=3)
        assert (observation["text"], info) == first[:2]


def test_made_by_gymnasium_lanes_have_seeds_in_a_row():
    envs = gymnasium.make_vec(gymnasium_id(TASK), num_envs=2, vectorization_mode="sync")
    try:
        observations, infos = envs.reset(seed=5)
        assert infos["seed"].tolist() == [5, 6]
        assert observations in envs.observation_space
    finally:
        envs.close()


@pytest.mark.parametrize("vector", [SyncVectorEnv, AsyncVectorEnv])
def test_two_lanes_with_default_arguments_keep_their_own(vector):
    envs = vector([partial(gymnasium.make, gymnasium_id(TASK))] * 2)
    try:
        observations, infos = envs.reset(seed=[3, 4])
        for lane, seed in enumerate((3, 4)):
            with agentgym.make(TASK) as alone:
                expected, _ = alone.reset(seed=seed)
            assert observations["text"][lane] == expected["text"] == infos["instruction"][lane]
        assert observations["text"][0] != observations["text"][1]
        words = (
            "na\u00efve \U0001f9ed \u6f22\u5b57 \u2028 e\u0301",
            "\u05e2\u05d1\u05e8\u05d9\u05ea \U0010ffff",
        )
        actions = tuple(bash(f"word='{word}'; echo \"$word\" | tee /root/word") for word in words)
        observations, *_ = envs.step(actions)
        assert observations["text"] == tuple(f"{word}\n" for word in words)
        observations, rewards, *_ = envs.step(
            (bash('printf %s "$word"'), bash("cat /root/word; false"))
        )
        assert observations["text"] == (words[0], f"{words[1]}\n[exit code 1]")
        assert [data["exit_code"] for data in observations["data"]] == [0, 1]
        assert rewards.tolist() == [0.0, 0.0]
        submit = {"tool": "submit", "arguments": {}}
        _, rewards, terminated, truncated, infos = envs.step((bash("pwd"), submit))
        assert terminated.tolist() == [False, True] and not truncated.any()
        assert rewards.tolist() == [0.0, 0.0]
        assert infos["verdict"]["status"][1] == "scored"
    finally:
        envs.close()


def test_four_lanes_in_one_process_are_four_episodes_and_one_may_break():
    with agentgym.make(TASK, max_steps=3) as alone:
        expected, _ = alone.reset(seed=4)
    envs = agentgym.vector.make(TASK, 4, seed=3, max_steps=3, autoreset_mode="SameStep")
    try:
        observations, infos = envs.reset()
        assert infos["seed"].tolist() == [3, 4, 5, 6]
        assert observations["text"][1] == expected["text"]
        assert observations in envs.observation_space
        words = [f"lane-{number}" for number in range(4)]
        observations, *_ = envs.step([bash(f"echo {word} | tee /root/word") for word in words])
        assert observations["text"] == tuple(f"{word}\n" for word in words)
        portal().run(envs.episodes[2].sandbox.close())
        submit = {"tool": "submit", "arguments": {}}
        look = bash("cat /root/word")
        observations, rewards, terminated, truncated, infos = envs.step([look, submit, look, look])
        assert terminated.tolist() == [False, True, False, False]
        assert truncated.tolist() == [False, False, True, False]
        assert rewards.tolist() == [0.0] * 4
        ended = infos["final_info"]
        assert ended["status"].tolist() == [None, "scored", "error:sandbox", None]
        assert ended["scored"].tolist() == [False, True, False, False]
        assert [observations["text"][lane] for lane in (0, 3)] == ["lane-0\n", "lane-3\n"]
        assert infos["_instruction"].tolist() == [False, True, True, False]
        observations, _, _, truncated, _ = envs.step([look] * 4)
        assert truncated.tolist() == [True, False, False, True]
        assert [observations["data"][lane]["exit_code"] for lane in (1, 2)] == [1, 1]
    finally:
        envs.close()
    assert all(episode.over for episode in envs.episodes)


def test_an_autoreset_of_recorded_lanes_takes_sandboxes_that_are_ready(tmp_path):
    folder = tmp_path / "run"
    envs = agentgym.vector.make(TASK, 2, seed=3, autoreset_mode="SameStep", record=folder)
    pool = envs.environments[0].provider
    submit = {"tool": "submit", "arguments": {}}

    async def all_are_ready():
        for generator in envs.np_random:
            seed = int(deepcopy(generator).integers(2**31))
            line = pool._line(*await envs.environments[0].prepare(seed))
            while not line.ready():
                await asyncio.sleep(0.01)

    envs.reset(options={"group": "g1"})
    portal().run(all_are_ready(), timeout_s=60)
    before = pool.statistics().hits
    envs.step([bash("echo wrong > /root/report.txt"), submit])
    envs.step([submit, bash("true")])
    assert pool.statistics().hits >= before + 2
    envs.close()
    assert pool.statistics().ready == 0
    # The provider belongs to the process and serves the next environment.
    with agentgym.make(TASK) as env:
        env.reset(seed=1)
    store = RunStore.open(folder)
    ended = [row for row in store.episodes() if row.verdict.scored]
    kept = [store.endings.find(row.id) for row in ended]
    assert [row.plan.group for row in ended] == ["g1", "g1"]
    assert all(ending.state and not ending.unkept for ending in kept)
    store.close()


ILLEGAL = {
    "unknown-tool": ({"tool": "bsh", "arguments": {"command": "ls"}}, "did you mean 'bash'"),
    "missing-argument": ({"tool": "bash", "arguments": {}}, "command"),
    "unknown-argument": ({"tool": "bash", "arguments": {"command": "ls", "cwd": "/"}}, "cwd"),
    "number-for-text": ({"tool": "bash", "arguments": {"command": 5}}, "arguments.command"),
    "text-for-number": (
        {"tool": "bash", "arguments": {"command": "ls", "timeout_s": "soon"}},
        "arguments.timeout_s",
    ),
    "not-a-number": (
        {"tool": "bash", "arguments": {"command": "ls", "timeout_s": float("nan")}},
        "timeout_s",
    ),
    "two-mebibytes": (bash("x" * 2 * MIB), f"{MIB:,}"),
    "nul": (bash("echo a\0b"), "NUL"),
    "lone-surrogate": (bash("echo \ud83d"), "surrogate"),
    "surrogate-as-tool": ({"tool": "\udfff", "arguments": {}}, "tool"),
    "arguments-no-object": ({"tool": "bash", "arguments": ["ls"]}, "must be an object"),
    "no-action": ("ls", "str"),
    "nothing": (None, "NoneType"),
    "an-array": (np.zeros(3), "ndarray"),
    "itself": ({"tool": "bash", "arguments": {"command": {"command": {}}}}, "arguments.command"),
}


def test_illegal_actions_are_answered_and_the_episode_goes_on(env):
    env.reset(seed=0)
    env.step(bash("cd /tmp && kept=yes"))
    for name, (action, words) in ILLEGAL.items():
        observation, reward, terminated, truncated, info = env.step(action)
        assert words in observation["text"], name
        assert len(observation["text"]) < 1000, name
        assert observation in env.observation_space, name
        assert (reward, terminated, truncated, info["effect"]) == (0.0, False, False, "error"), name
    observation, *_ = env.step(bash("echo $kept; pwd"))
    assert observation["text"] == "yes\n/tmp\n"
    *_, terminated, _, info = env.step({"tool": "submit", "arguments": {}})
    assert terminated and info["verdict"]["status"] == "scored"


def test_any_output_is_an_observation_of_the_space(env):
    env.reset(seed=0)
    for source in ("/dev/urandom", "/dev/zero"):
        observation, *_ = env.step(bash(f"head -c 200000 {source}"))
        assert observation in env.observation_space
    # What NUL is shown as, as often as the output limit allows.
    assert observation["text"].count("\u2400") > 60_000


def test_sampled_actions_are_a_legal_policy(env):
    env.reset(seed=0)
    env.action_space.seed(7)
    for _ in range(12):
        action = env.action_space.sample()
        assert action in env.action_space
        observation, _, terminated, truncated, _ = env.step(action)
        assert observation in env.observation_space
        assert not observation["text"].startswith("error: unknown tool")
        if terminated or truncated:
            env.reset()


def test_ppo_trains_on_bytes_and_numbers(tmp_path, monkeypatch):
    # The trainer logs to the temporary folder, and leaves it there.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sb3 = pytest.importorskip("stable_baselines3", reason="trains with Stable-Baselines3's PPO")
    calls = [bash("ls /srv"), bash("printf '\\xff\\xfe \\360\\237\\230\\200'"), {"tool": "submit"}]
    env = agentgym.make(TASK, seed=1, max_steps=4)
    env = agentgym.ByteText(agentgym.DiscreteCalls(env, calls), length=128)
    with warnings.catch_warnings():
        # torch and its users warn about themselves.
        warnings.simplefilter("default")
        model = sb3.PPO("MlpPolicy", env, n_steps=16, batch_size=16, seed=0, device="cpu")
        model.learn(total_timesteps=32)
    assert model.num_timesteps == 32
    episodes = list(model.ep_info_buffer)
    assert len(episodes) >= 32 // 4
    assert all(1 <= episode["l"] <= 4 and episode["r"] == 0.0 for episode in episodes)
    env.close()
