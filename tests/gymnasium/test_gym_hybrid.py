"""A computer and services in one episode, as Gymnasium and its learners see them."""

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env
from hybrid_desk import CALM_TASK, write_desk

import agentgym
from agentgym.gymnasium import registration
from agentgym.gymnasium.wrappers import ByteText, DiscreteCalls
from agentgym.records import Action
from agentgym.sandbox.bubblewrap import BubblewrapProvider

PROBLEMS = BubblewrapProvider().problems()
pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")

TASK_ID = "demo/both-v1"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    return tmp_path / "catalogue"


@pytest.fixture
def gym_desk(root):
    write_desk(root, CALM_TASK)
    registration.shared_provider.cache_clear()
    with agentgym.make(TASK_ID, seed=3) as env:
        yield env
    registration.shared_provider.cache_clear()


def test_gymnasium_admits_what_services_say_and_show(gym_desk):
    gym_desk.reset()
    for tool, arguments in (
        ("shelf_look", {"item": 1}),
        ("shelf_poster", {"width": 5000}),
        ("shelf_repeat", {"text": "\U0001f600" * 9, "times": 10_000}),
        ("shelf_repeat", {"text": "\u00e9", "times": 9_000}),
        ("run_python", {"code": "'\U0001f600' * 200_000"}),
        (
            "run_python",
            {"code": "print('\\0\\ud800'.encode('utf-8', 'replace').decode() * 99_999)"},
        ),
        ("run_python", {"code": "raise ValueError('\u00e9' * 100_000)"}),
        ("run_python", {"code": "[['\u00e9'] * 9] * 900"}),
        ("bash", {"command": "head -c 300000 /dev/urandom"}),
        ("shelf_look", {"item": 99}),
    ):
        observation, *_ = gym_desk.step({"tool": tool, "arguments": arguments})
        assert observation in gym_desk.observation_space, (tool, arguments)
    assert gym_desk.observation_space.sample() in gym_desk.observation_space
    assert max(gym_desk.unwrapped.observation_space["image"].sample().shape) <= 16


def test_the_checker_of_gymnasium_accepts_it(gym_desk):
    check_env(gym_desk.unwrapped, skip_render_check=True)


def test_learners_of_numbers_act_on_both(gym_desk):
    calls = [Action("shelf_add", {"title": "x"}), Action("bash", {"command": "echo y"})]
    learner = ByteText(
        DiscreteCalls(
            gym_desk, [*calls, Action("run_python", {"code": "len(shelf_list_items())"})]
        ),
        64,
    )
    learner.reset()
    said = [bytes(learner.step(number)[0]).rstrip(b"\0") for number in range(3)]
    assert b'"title": "x"' in said[0] and said[1:] == [b"y\n", b"4"]


def test_pictures_travel_between_processes(root):
    write_desk(root, CALM_TASK)
    envs = gymnasium.vector.AsyncVectorEnv([lambda: agentgym.make(TASK_ID, seed=1)] * 2)
    try:
        envs.reset(seed=1)
        actions = [
            {"tool": "shelf_poster", "arguments": {"width": 30}},
            {"tool": "bash", "arguments": {"command": "true"}},
        ]
        observations, *_ = envs.step(actions)
        shapes = [image.shape for image in observations["image"]]
        assert shapes == [(10, 30, 3), (1, 1, 3)]
        assert tuple(observations["image"][0][0, 0]) == (0, 0, 255)
    finally:
        envs.close()
