"""A fork of an episode with a desktop: files as they were, applications started anew."""

import pytest
from built_images import take_image

from agentgym.env.environment import Environment
from agentgym.records import Action
from agentgym.task.load import find_task

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="session")]
LIST = "/home/user/packing.txt"


async def step(episode, tool, **arguments):
    return (await episode.step(Action(tool, arguments))).observation


def field(observation):
    (found,) = (node for node in observation.data["nodes"] if node["role"] == "textbox")
    return found


async def saved(episode, text):
    """Wait until the list on disk is this one."""
    for _ in range(40):
        if (await episode.sandbox.read_file(LIST)).decode() == text:
            return
        await step(episode, "wait", seconds=0.25)
    raise AssertionError(f"the list is not {text!r}")


async def test_a_fork_has_what_was_saved_and_goes_its_own_way(provider):
    take_image("desktop")
    async with Environment(find_task("desktop/packing-list-v1"), provider) as environment:
        episode = await environment.start(0)
        seen = await step(episode, "wait", seconds=0)
        await step(episode, "type", ref=field(seen)["ref"], text="saved\n")
        await step(episode, "press", keys="Control+S")
        await saved(episode, "saved\n")
        await step(episode, "press", keys="Control+End")
        seen = await step(episode, "type", text="not saved", clear=False)
        assert field(seen)["value"] == "saved\nnot saved"
        fork = await episode.fork()
        there = await step(fork, "wait", seconds=0)
        assert field(there)["value"] == "saved\n", "the editor has opened the saved list anew"
        assert any("packing.txt" in window["title"] for window in there.data["windows"])
        await step(fork, "type", ref=field(there)["ref"], text="of the fork\n")
        await step(fork, "press", keys="Control+S")
        await saved(fork, "of the fork\n")
        assert field(await step(episode, "wait", seconds=0))["value"] == "saved\nnot saved"
        assert (await episode.sandbox.read_file(LIST)).decode() == "saved\n"
        assert len(fork.steps) > len(episode.steps) - 1
        await fork.close()
        await episode.close()
