"""The end of an episode on a desktop: its windows are noted, and closed where a task says so."""

import pytest
from built_images import take_image

from agentgym.env.environment import Environment
from agentgym.errors import ConfigError
from agentgym.records import Action, SurfaceConfig
from agentgym.surfaces.desktop import DesktopKind
from agentgym.task.load import find_task

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="session")]


async def test_windows_close_and_what_is_not_saved_stays_unsaved(open_desk):
    desk = await open_desk(
        "mousepad /home/user/notes.txt",
        "libreoffice --calc /home/user/sums.csv",
        files={"/home/user/notes.txt": b"as it was", "/home/user/sums.csv": b"1,2\n"},
        at_end="close",
    )
    await desk.do("key_down", key="Alt")
    await desk.do("press", keys="Tab")
    await desk.do("key_up", key="Alt")
    await desk.do("type", text="never saved", ref=desk.ref("textbox"))
    seen = {window["title"]: window for window in desk.seen.data["windows"]}
    assert any("notes.txt" in title for title in seen)
    await desk.surface.finish()
    noted = {window["title"] for window in desk.surface.audit().page_state["windows"]}
    assert noted == set(seen), "the windows are those of the agent's last look"
    await desk.look()
    left = [window["class"] for window in desk.seen.data["windows"]]
    # The editor asks about the changed text; the office had nothing to ask.
    assert "libreoffice-calc" not in left and "Mousepad" in left
    assert await desk.read("/home/user/notes.txt") == "as it was"


async def test_windows_stay_open_by_default(open_desk):
    desk = await open_desk("mousepad")
    await desk.surface.finish()
    await desk.look()
    assert [window for window in desk.seen.data["windows"] if window["class"] == "Mousepad"]


async def test_a_verdict_sees_the_windows(provider):
    take_image("desktop")
    async with Environment(find_task("desktop/packing-list-v1"), provider) as environment:
        episode = await environment.start(0)
        assert episode.audit.page_state == {}
        await episode.step(Action("submit"))
        titles = [window["title"] for window in episode.audit.page_state["windows"]]
        assert any("packing.txt" in title for title in titles)


async def test_another_end_is_refused():
    with pytest.raises(ConfigError, match=r"surface.desktop.at_end: .*'save'"):
        DesktopKind(SurfaceConfig((), {"at_end": "save"}, True, 1_000))
