"""Issues of the suite `swe` solved in another way: other files, algorithms, commits and merges.

Somebody wrote them who had read the issues and the repositories, and no hidden test.
"""

from pathlib import Path

import pytest
from built_images import take_image
from suite_checks import folders_of

from agentgym import plugins
from agentgym.authoring.subject import Subject
from agentgym.task.load import find_task
from agentgym.task.reference_actions import read_reference_actions

TASKS = {folder.name: task_id for task_id, folder in folders_of("swe").items()}
WAYS = sorted((Path(__file__).parent / "other_ways" / "swe").iterdir())


def _name(way: Path) -> str:
    return way.stem.partition("--")[0]


PLAYED = [
    way if number % 4 == 0 else pytest.param(way, marks=pytest.mark.full)
    for number, way in enumerate(WAYS)
]
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", PLAYED, ids=lambda way: way.stem)
async def test_it_passes(way, stage):
    take_image("swe-python")
    task = find_task(TASKS[_name(way)])
    subject = Subject(task, (0,), stage)
    played = await subject.play(read_reference_actions(way, task.instance(0)))
    subject.close()
    assert not played.error
    assert played.verdict.outcome, [result.message for result in played.verdict.checkpoints]


async def test_every_task_has_another_way():
    assert {_name(way) for way in WAYS} == TASKS.keys()
