"""Office tasks done right in another way than by their own solution: other tools, order, words."""

from pathlib import Path

import pytest
import pytest_asyncio

from agentgym import plugins
from agentgym.authoring.stage import Stage
from agentgym.authoring.subject import Subject
from agentgym.errors import TaskError
from agentgym.task.load import find_task
from agentgym.task.reference_actions import read_actions

WAYS = sorted((Path(__file__).parent / "other_ways").glob("*.jsonl"))

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage():
    stage = Stage(plugins.load("agentgym.sandboxes", "none")(), 1)
    yield stage
    await stage.close()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.stem)
async def test_it_passes(way, stage):
    task = find_task(f"tools/{way.stem.partition('--')[0]}-v1")  # "pay-bands--submit"
    subject = Subject(task, [0], stage)
    played = await subject.play(read_actions(way, TaskError, task.instance(0).params))
    assert not played.error
    missed = [f"{r.id}: {r.message}" for r in played.verdict.checkpoints if r.status != "pass"]
    assert played.verdict.score == 1, missed
