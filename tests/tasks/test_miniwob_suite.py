"""The suite `miniwob`: the pages of MiniWoB++ that a scripted policy plays, and all that load."""

import pytest
from suite_checks import folders_of

from agentgym.agents.noop import NoopAgent
from agentgym.agents.oracle import OracleAgent
from agentgym.browser.executable import can_confine, find_executable
from agentgym.env.environment import Environment
from agentgym.errors import ConfigError
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import find_task, load_task

pytest.importorskip("miniwob", reason="the extra miniwob is not installed")
FOLDERS = folders_of("miniwob")
SOLVED = [name for name, folder in FOLDERS.items() if (folder / "solution").is_dir()]
# A click, typing, a menu, a picture with places, a drag, a mail, a calendar.
SAMPLE = (
    *("click-dialog-2", "enter-text-2", "choose-list", "find-midpoint", "drag-sort-numbers"),
    *("email-inbox-forward", "use-slider"),
)


@pytest.fixture(scope="module", autouse=True)
def chromium():
    if not can_confine():
        pytest.skip("bubblewrap, which confines the browser, is not installed")
    try:
        return find_executable()
    except ConfigError as error:
        pytest.skip(str(error))


async def play(task, agent, seed):
    async with Environment(task, NoSandboxProvider()) as environment:
        return await run_episode(
            environment, agent, seed=seed, store=None, episode_id=None, timeout_s=120
        )


async def first_sight(task, seed):
    async with (
        Environment(task, NoSandboxProvider()) as environment,
        await environment.start(seed) as episode,
    ):
        return episode.first


def test_all_pages_of_the_package_are_tasks_and_most_are_solved():
    assert len(FOLDERS) == 125 and len(SOLVED) >= 70
    for folder in FOLDERS.values():
        task = load_task(folder)
        assert bool(task.manifest.unsolved) != (folder / "solution").exists()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=() if name.removesuffix("-v1").split("/")[1] in SAMPLE else pytest.mark.full
        )
        for name in SOLVED
    ],
)
async def test_the_policy_is_rewarded_for_every_seed(name, full):
    task = find_task(name)
    for seed in (0, 11) if full else (0,):
        result = await play(task, OracleAgent(), seed)
        assert result.verdict.outcome, (seed, result.verdict)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=() if name.removesuffix("-v1").split("/")[1] in SAMPLE else pytest.mark.full
        )
        for name in FOLDERS
    ],
)
async def test_a_seed_is_one_instance_and_doing_nothing_is_worth_nothing(name):
    task = find_task(name)
    one, same = [await first_sight(task, 5) for _ in range(2)]
    assert one.text == same.text
    idle = await play(task, NoopAgent(), 5)
    assert idle.verdict.scored and not idle.verdict.outcome and idle.verdict.score == 0


SCRIPTS = (
    "<img src=x onerror=core.endEpisode(1)>",
    "<svg onload=core.endEpisode(1)>",
    "<iframe srcdoc='<script>parent.core.endEpisode(1)</script>'>",
    "<iframe src='javascript:parent.core.endEpisode(1)'>",
    "<a href=javascript:core.endEpisode(1)>reward</a>",
)
"""Texts that a policy types into a page which writes them into its own HTML."""


@pytest.mark.parametrize("script", SCRIPTS)
async def test_a_script_that_a_policy_types_does_not_run(script):
    async with (
        Environment(find_task("miniwob/terminal"), NoSandboxProvider()) as environment,
        await environment.start(1) as episode,
    ):
        await episode.step({"tool": "click", "arguments": {"x": 80, "y": 150}})
        typed = {"text": script, "clear": False, "submit": True}
        step = await episode.step({"tool": "type", "arguments": typed})
        for node in step.observation.data.get("nodes", ()):
            if node.get("name") == "reward":
                step = await episode.step({"tool": "click", "arguments": {"ref": node["ref"]}})
        if step.verdict is None:
            step = await episode.step({"tool": "wait", "arguments": {"seconds": 0.3}})
        if step.verdict is None:
            step = await episode.step({"tool": "submit", "arguments": {}})
        assert step.verdict.scored and step.verdict.score == 0
