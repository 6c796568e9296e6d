"""Tasks of the suite `terminal` done right in another way: other tools, backups, files left behind.

A patch is told by what it changes in the task's own solution, as a mutant is.
"""

from pathlib import Path

import pytest
from suite_checks import folders_of

from agentgym import plugins
from agentgym.authoring.subject import Subject
from agentgym.eval.requirements import missing_commands
from agentgym.task.load import find_task
from agentgym.task.reference_actions import read_reference_actions

TASKS = {folder.name: task_id for task_id, folder in folders_of("terminal").items()}
WAYS = sorted((Path(__file__).parent / "other_ways" / "terminal").iterdir())
# A way and its task rarely change; the commands of a third of them are enough to notice an engine
# that judges them otherwise.
PLAYED = [
    way if number % 3 == 0 else pytest.param(way, marks=pytest.mark.full)
    for number, way in enumerate(WAYS)
]
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
@pytest.mark.parametrize("way", PLAYED, ids=lambda way: way.stem)
async def test_it_passes(way, stage):
    task = find_task(TASKS[way.stem])
    if missing := missing_commands([task]):
        pytest.skip(f"{missing[0].command} is not installed; run: {missing[0].install}")
    subject = Subject(task, [0], stage)
    played = await subject.play(read_reference_actions(way, task.instance(0)))
    assert not played.error
    missed = [f"{r.id}: {r.message}" for r in played.verdict.checkpoints if r.status == "fail"]
    assert played.verdict.outcome and not missed, missed


async def test_every_task_has_another_way():
    assert {way.stem for way in WAYS} == TASKS.keys()
