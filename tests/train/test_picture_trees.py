"""Rollouts that branch, of a vision-language model: each leaf has the pictures that it has seen."""

from __future__ import annotations

import importlib.util
import random
import zlib

import numpy as np
import pytest

pytest.importorskip("torch", reason="training")
# Its import takes a second, and every worker collects this module.
if importlib.util.find_spec("transformers") is None:
    pytest.skip("a vision-language model needs transformers", allow_module_level=True)

from picture_models import Spelling, make_world
from small_models import call_text

from agentgym.env.environment import Environment
from agentgym.records import Observation, ObservationLimits, ToolSpec
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.adhoc import lay_down
from agentgym.task.load import load_task
from agentgym.train.branch_points import BranchAt, TreeConfig
from agentgym.train.policy import TokenPolicy
from agentgym.train.rollouts import Assignment, Rollouts
from agentgym.train.samples import read_sequence

SUBMIT = call_text("hermes", "submit", {})


def shape(looks):
    """The picture is wider after every look."""
    return (28, 28 + 28 * looks, 3)


class Lamp:
    """A surface whose picture is brighter after every look."""

    def __init__(self):
        self.looks = 0

    def _seen(self):
        return Observation("lit", image=np.full(shape(self.looks), 60 * self.looks, np.uint8))

    async def call(self, action):
        self.looks += 1
        return self._seen()

    async def observe(self):
        return self._seen()

    async def save(self):
        return {"looks": self.looks}

    async def load(self, state):
        self.looks = state["looks"]

    async def close(self):
        pass


class LampKind:
    name = "services"
    limits = ObservationLimits(1_000, 1_000, 280, 28)

    def __init__(self, config):
        pass

    def tools(self):
        at = {"type": "object", "properties": {"at": {"type": "integer"}}}
        return (ToolSpec("look", "Look.", at),)

    async def open(self):
        pass

    async def attach(self, site):
        return Lamp()

    async def close(self):
        pass


@pytest.mark.parametrize("kind", ["llava", "qwen2_vl"])
async def test_every_leaf_of_a_tree_has_the_pictures_of_its_way(kind, monkeypatch):
    tokenizer, model, template = make_world(kind)
    table = model.pictures

    class Drawing(Spelling):
        async def generate(self, dialogue, new_ids, *, seed, **options):
            drawn = random.Random(seed).randrange(9)
            self._calls = [call_text("hermes", "look", {"at": drawn}) if drawn else SUBMIT]
            return await super().generate(dialogue, new_ids, seed=seed, **options)

    def policy(assignment, name):
        sampler, seed = Drawing(tokenizer), zlib.crc32(name.encode())
        return TokenPolicy(sampler, template, limit=500, seed=seed, pictures=table)

    monkeypatch.setattr("agentgym.env.spec.plugins.load", lambda group, name: LampKind)
    task = load_task(lay_down("office", instruction="Look."))
    provider = NoSandboxProvider()
    async with Environment(task, provider, max_steps=4) as environment:
        config = TreeConfig(leaves=8, width=2, at=BranchAt.STEPS)
        rollouts = Rollouts({"t": environment}, policy, jobs=1, tree=config)
        group = await rollouts.group(Assignment(1, "t", 0, 1))
    await provider.close()
    assert not group.missing and len(group.trajectories) > 2
    lengths = set()
    for each in group.trajectories:
        (sequence,) = each.tokens.sequences
        assert [int(seen.max()) for seen in sequence.pictures] == [
            60 * look for look in range(each.length)
        ]
        assert [seen.shape for seen in sequence.pictures] == [
            shape(look) for look in range(each.length)
        ]
        assert table.placeholder not in read_sequence(sequence, table).ids
        lengths.add(each.length)
    assert len(lengths) > 1
