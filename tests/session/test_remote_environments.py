"""A remote environment behaves as the local one of the same task, value for value."""

import asyncio
import gc

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env
from live_server import TASK as COUNTER
from live_server import TOKEN, live_server

import agentgym
import agentgym.vector
from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.errors import ConfigError, NotFoundError
from agentgym.sandbox.absent import NoSandboxProvider

TASK = "tools/largest-debtors-v1"
SEARCH = {"tool": "contacts_search", "arguments": {"text": "an"}}
SUBMIT = {"tool": "submit", "arguments": {}}
END = {"tool": "give_up", "arguments": {"reason": "Nobody owes us anything."}}
ODD = [
    None,
    "ls",
    0,
    {},
    {"tool": "no_such_tool"},
    {"tool": "contacts_search", "arguments": "an"},
    {"tool": "contacts_search", "arguments": {"text": 5}},
    {"tool": "contacts_search", "arguments": {"text": "\ud800"}},
    {"tool": "contacts_search", "arguments": {"text": "a\0"}},
    {"tool": "contacts_search", "arguments": {"text": float("nan")}},
    {"tool": "contacts_search", "arguments": {"text": "x" * 2**21}},
    {"tool": "contacts_search", "arguments": {1: 2}},
    {"tool": "contacts_search", "arguments": {"text": ("a", "b")}},
    {"tool": "contacts_search", "arguments": {"text": np.zeros(2)}},
    {"tool": "contacts_search", "arguments": {"text": b"an"}},
    agentgym.Action("contacts_search", {"text": "an"}),
]


def same(one, other):
    """Return whether two values are equal, in the arrays of objects that they hold, too."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray) and one.dtype != object:
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple | np.ndarray):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    environments = {TASK: Environment(load_built(TASK), NoSandboxProvider())}
    folder = tmp_path_factory.mktemp("server") / "run"
    with live_server(folder, environments=environments) as running:
        yield running
        running.run(environments[TASK].close())


@pytest.fixture
def env(server):
    made = agentgym.make(TASK, server=server.url, server_token=TOKEN)
    yield made
    made.close()


def test_gymnasium_s_own_checker_passes(server, env, monkeypatch, recwarn):
    monkeypatch.setenv("AGENTGYM_SERVE_TOKEN", TOKEN)
    check_env(env)


def test_observations_rewards_and_infos_are_those_of_the_local_class(env):
    local = agentgym.make(TASK, sandbox="none")
    assert env.action_space == local.action_space
    assert env.observation_space == local.observation_space
    for actions in ([SEARCH, *ODD, SUBMIT, END], [SEARCH] * 60):
        np.testing.assert_equal(env.reset(seed=3), local.reset(seed=3))
        for action in actions:
            found = env.step(action)
            np.testing.assert_equal(found, local.step(action))
            if found[2] or found[3]:
                break
        assert found[2] or found[3], "the steps run out"
        assert "verdict" in found[4]
        for each in (env, local):
            with pytest.raises(ResetNeeded):
                each.step(SEARCH)
    np.testing.assert_equal(env.reset(), local.reset())  # the seed is drawn
    local.close()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_vectors_are_those_of_the_local_class(server, mode):
    remote = agentgym.vector.make(
        TASK, 3, server=server.url, server_token=TOKEN, autoreset_mode=mode
    )
    local = agentgym.vector.make(TASK, 3, sandbox="none", autoreset_mode=mode)
    assert same(remote.reset(seed=[1, 2, 3]), local.reset(seed=[1, 2, 3]))
    for actions in ([SEARCH, None, END], [SEARCH, END, SEARCH], [END, SEARCH, SEARCH]):
        assert same(remote.step(actions), local.step(actions))
    assert server.sessions.open_sessions == 1
    remote.close()
    local.close()
    assert server.sessions.open_sessions == 0


def test_every_lane_of_a_wide_vector_steps(tmp_path):
    lanes = 150
    terms = {"max_episodes": lanes, "max_live": lanes}
    with live_server(tmp_path / "run", **terms) as server:
        envs = agentgym.vector.make(COUNTER, lanes, server=server.url, server_token=TOKEN)
        envs.reset(seed=0)
        for turn in (1, 2):
            add = {"tool": "add", "arguments": {"n": 2}}
            seen, _, terminated, truncated, _ = envs.step([add] * lanes)
            assert not terminated.any() and not truncated.any()
            assert all(f"it is {2 * turn} " in text for text in seen["text"])
        envs.close()


def test_labels_are_recorded_by_the_server(tmp_path):
    with live_server(tmp_path / "run") as server:
        env = agentgym.make(server=server.url, server_token=TOKEN, record_as="trainer 7")
        env.reset(seed=1, options={"group": "g1", "metadata": {"epoch": 3}})
        with pytest.raises(ConfigError, match="colour"):
            env.reset(seed=1, options={"colour": 1})
        env.reset(seed=2)
        env.close()
    first, second = (row.plan for row in server.episodes())
    assert (first.agent, first.group, first.metadata) == ("ws:trainer 7", "g1", {"epoch": 3})
    assert (second.task, second.seed, second.group) == (COUNTER, 2, None)


def test_a_fork_goes_on_from_the_state_of_its_parent(tmp_path):
    add = {"tool": "add", "arguments": {"n": 2}}
    from agentgym.env.portal import portal

    with live_server(tmp_path / "run") as server:
        env = agentgym.make(server=server.url, server_token=TOKEN)
        env.reset(seed=1)
        env.step(add)

        async def forked():
            child = await env.episode.fork()
            seen = await child.step(add)
            return child, seen, await child.finish()

        child, seen, verdict = portal().run(forked())
        assert (len(child.steps), seen.observation.data) == (2, {"number": 4})
        assert verdict.score == 1.0
        assert env.step(SUBMIT)[1] == 0.5
        env.close()
    parent, fork = server.episodes()
    assert (fork.parent, fork.steps, parent.steps) == ((parent.id, 1), 2, 2)


def test_closing_twice_and_using_it_after(server):
    env = agentgym.make(TASK, server=server.url, server_token=TOKEN)
    env.reset(seed=1)
    env.close()
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.reset()
    assert server.sessions.open_sessions == 0


def test_a_forgotten_environment_leaves_its_session(server):
    env = agentgym.make(TASK, server=server.url, server_token=TOKEN)
    env.reset(seed=1)
    del env
    gc.collect()

    async def left():
        while server.sessions.open_sessions:
            await asyncio.sleep(0.02)

    server.run(asyncio.wait_for(left(), 10))


def test_the_specification_holds_no_token_and_makes_the_environment_again(env, monkeypatch):
    assert TOKEN not in repr(env.spec)
    monkeypatch.setenv("AGENTGYM_SERVE_TOKEN", TOKEN)
    again = gymnasium.make(env.spec)
    assert again.reset(seed=2)[1]["seed"] == 2
    again.close()


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_steps": 3},
        {"sandbox": "docker"},
        {"record": "runs/x"},
        {"user": "scripted"},
        {"keep_states": "all"},
    ],
)
def test_what_the_server_decides_is_refused(server, arguments):
    with pytest.raises(ConfigError, match=next(iter(arguments))):
        agentgym.make(TASK, server=server.url, server_token=TOKEN, **arguments)
    with pytest.raises(ConfigError, match=next(iter(arguments))):
        agentgym.vector.make(TASK, 2, server=server.url, server_token=TOKEN, **arguments)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "127.0.0.1:1", "ws://", "ws://u:p@h", 5])
def test_a_wrong_address_is_refused(url):
    with pytest.raises(ConfigError, match="ws://127.0.0.1:8765|expected an address"):
        agentgym.make(TASK, server=url)


def test_a_name_without_a_version_means_the_task_that_is_offered(server):
    env = agentgym.make(TASK.removesuffix("-v1"), server=server.url, server_token=TOKEN)
    assert env.reset(seed=3)[1]["task"] == TASK
    env.close()


def test_a_mistyped_task_offers_the_close_match(server):
    with pytest.raises(NotFoundError, match="largest-debtors"):
        agentgym.make("tools/largest-debtor", server=server.url, server_token=TOKEN)
    assert server.sessions.open_sessions == 0
