"""Tasks of the office, solved in its web faces alone, and with the verdict that tools would get."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.env.opening import open_environment
from agentgym.task.load import find_task
from agentgym.task.reference_actions import reference
from agentgym.task.reference_policy import ReferencePolicy

TASKS = Path(__file__).resolve().parents[2] / "tasks" / "tools"
LATER = ("loud-customer", "namesake-invoice", "pay-bands")
"""Solutions that take long, or whose moves other ones make too: `make test-full` plays them."""

SOLVED = [
    pytest.param(name, marks=[pytest.mark.full] if name in LATER else [])
    for name in sorted(path.parent.parent.name for path in TASKS.glob("*/solution/browser.py"))
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SOLVED)
async def test_a_solution_in_the_browser_succeeds(name):
    async with open_environment(f"tools/{name}-v1", surfaces=["browser"]) as environment:
        assert not any(tool.name.startswith(("mail_", "tickets_")) for tool in environment.tools)
        episode = await environment.start(seed=1)
        policy = ReferencePolicy(reference(episode.instance), episode.instance.instruction)
        observation = episode.first
        while not policy.over:
            transition = await episode.step(policy.act(observation))
            observation = transition.observation
        assert transition.verdict.score == 1.0 and transition.verdict.outcome


async def test_browser_and_tools_are_one_action_space():
    both = ["browser", "services"]
    async with open_environment("tools/loud-customer-v1", surfaces=both) as environment:
        names = {tool.name for tool in environment.tools}
        assert {"click", "tickets_search", "submit"} <= names
        episode = await environment.start(seed=1)
        url = "http://tickets.office.example/ticket/13"
        call = {"tool": "tickets_assign", "arguments": {"ticket": 13, "agent": "bo"}}
        await episode.step(call)
        seen = (await episode.step({"tool": "goto", "arguments": {"url": url}})).observation
        assert "Bo " in str(seen.data["nodes"])
        await episode.close()


def test_the_solution_fits_the_chosen_surfaces():
    task = find_task("tools/contact-entered-twice-v1")
    chosen = task.with_surfaces(["browser", "services"])
    assert reference(chosen.instance(0)).name == "browser.py"
    assert isinstance(reference(task.instance(0)), tuple)
    assert isinstance(reference(task.with_surfaces(["services"]).instance(0)), tuple)
