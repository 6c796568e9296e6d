"""The first observation holds the views of the surfaces below the instruction."""

import gc
import pickle
import shutil
import weakref
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from agentgym.env.environment import Environment
from agentgym.env.recording import EpisodeRecording
from agentgym.errors import RecordError, SurfaceError
from agentgym.gymnasium.env import GymEnv
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Observation, ObservationLimits, ToolSpec
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.adhoc import lay_down
from agentgym.task.load import load_task

EMPTY = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
SCREEN = np.full((1_200, 1_600, 3), 7, np.uint8)
TREE = {"role": "window", "name": "x" * 100_000}


class Screen:
    """A surface that shows a screen larger than other surfaces may."""

    def __init__(self, kind):
        self.kind, self.closed = kind, False

    async def call(self, action):
        return Observation("looked", image=SCREEN)

    async def observe(self):
        return Observation("A window is open.", image=SCREEN, data={"tree": TREE})

    async def save(self):
        return {}

    async def load(self, state):
        pass

    async def close(self):
        self.closed = True


class ScreenKind:
    """Notes what happens to it."""

    name = "services"
    limits = ObservationLimits(1_000, 200_000, 1_600, 1_200)

    def __init__(self, config):
        self.log, self.surfaces = [], []

    def tools(self):
        return (ToolSpec("look", "Look at the screen.", EMPTY),)

    async def open(self):
        self.log.append("open")

    async def attach(self, site):
        self.surfaces.append(Screen(self))
        return self.surfaces[-1]

    async def close(self):
        assert all(surface.closed for surface in self.surfaces)
        self.log.append("close")


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.setattr("agentgym.env.spec.plugins.load", lambda group, name: ScreenKind)
    return Environment(load_task(lay_down("office", instruction="Look.")), NoSandboxProvider())


async def test_the_first_observation_has_the_view_below_the_instruction(environment):
    async with environment:
        episode = await environment.start(0)
        told, shown = episode.first.text.rsplit("\n", 1)
        assert told.startswith("Look.") and shown == "A window is open."
        assert episode.first.image is SCREEN
        assert episode.first.data == {"services": {"tree": TREE}}
        assert episode.instance.instruction == episode.first.text


async def test_a_kind_is_opened_once_and_closed_after_all_of_its_surfaces(environment):
    (kind,) = environment.surface_kinds
    assert kind.log == []
    async with environment:
        for _ in range(3):
            await environment.start(0)
        assert kind.log == ["open"] and len(kind.surfaces) == 3
        await environment.surface_kinds[0].surfaces[0].call(Action("look"))
    assert kind.log == ["open", "close"]


async def test_a_start_that_fails_leaves_no_episode(environment):
    (kind,) = environment.surface_kinds

    async def broken():
        raise SurfaceError("no screen")

    async with environment:
        kind_attach, made = kind.attach, []

        async def attach(site):
            surface = await kind_attach(site)
            surface.observe = broken
            made.append(surface)
            return surface

        kind.attach = attach
        with pytest.raises(SurfaceError, match="no screen"):
            await environment.start(0)
        assert made[0].closed and not environment.live


def test_the_gymnasium_space_follows_the_limits_of_the_kind(environment):
    with GymEnv(environment) as env:
        observation, _ = env.reset(seed=0)
        assert observation in env.observation_space
        assert observation["image"].shape == (1_200, 1_600, 3)
        assert np.zeros((1_201, 1_600, 3), np.uint8) not in env.observation_space["image"]


async def test_older_pictures_of_a_recorded_episode_are_on_disk_only(
    environment, tmp_path, monkeypatch
):
    shown = []

    async def call(self, action):
        picture = np.full((8, 8, 3), len(shown), np.uint8)
        shown.append(weakref.ref(picture))
        return Observation("looked", picture, {"n": 1})

    monkeypatch.setattr(Screen, "call", call)
    plan = EpisodePlan(environment.task.id, 0, 0, "noop")
    async with environment:
        with closing(RunStore.create(tmp_path / "run", {}, [plan])) as store:
            episode = await environment.start(0)
            EpisodeRecording(store, 1, episode, has_player=False)
            for _ in range(6):
                await episode.step(Action("look"))
            gc.collect()
            assert [picture() is None for picture in shown] == [True] * 2 + [False] * 4
            child = await episode.fork()
            await episode.close()
            await child.close()
    for steps in (episode.steps, child.steps):
        assert [step.observation.image.tolist() for step in steps] == [
            np.full((8, 8, 3), n).tolist() for n in range(6)
        ]
    old = episode.steps[0].observation
    sent = pickle.loads(pickle.dumps(old))
    changed = replace(old, text="seen")
    shutil.rmtree(tmp_path / "run" / "blobs")
    with pytest.raises(RecordError, match="cannot be read"):
        _ = old.image
    for kept in (sent, changed):
        assert kept.image.tolist() == np.zeros((8, 8, 3)).tolist()
        assert (kept.data, kept.effect) == (old.data, old.effect)
    assert (sent.text, changed.text) == ("looked", "seen")
