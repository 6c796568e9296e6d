"""The suite `terminal`: every task is sound, in real sandboxes."""

import pytest
from suite_checks import check_form, check_slots, check_soundness, folders_of, left_out

from agentgym import plugins
from agentgym.eval.requirements import missing_commands
from agentgym.task.load import find_task
from agentgym.task.template import cardinality

FOLDERS = folders_of("terminal")
TEMPLATE_INSTANCES = 50
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()

pytestmark = pytest.mark.asyncio(loop_scope="session")
every_task = pytest.mark.parametrize("task_id", FOLDERS)
# Many episodes with all seeds and properties, on a machine that may be busy.
many_episodes = pytest.mark.timeout(1200)


@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
@every_task
@many_episodes
async def test_it_is_sound(task_id, stage, full, note):
    if missing := missing_commands([find_task(task_id)]):
        pytest.skip(f"{missing[0].command} is not installed; run: {missing[0].install}")
    await check_soundness(FOLDERS[task_id], stage, full=full, note=note)


async def test_every_property_is_examined_on_tasks_that_did_not_change():
    assert not left_out(FOLDERS)


async def test_the_suite_has_thirty_tasks_ten_begin_in_a_conflict_and_half_are_templates():
    assert len(FOLDERS) >= 30
    conflicts = [i for i in FOLDERS if "state-conflict" in find_task(i).manifest.tags]
    assert len(conflicts) >= 10
    sizes = {task_id: cardinality(find_task(task_id).manifest.params) for task_id in FOLDERS}
    templates = [task_id for task_id, size in sizes.items() if size >= TEMPLATE_INSTANCES]
    assert 2 * len(templates) >= len(sizes), sizes


@every_task
async def test_it_loads_with_partial_credit_and_three_mutants_that_say_why(task_id):
    check_form(task_id, outcomes=2)


@every_task
async def test_seeds_give_different_instances_with_every_slot_filled(task_id):
    distinct = check_slots(task_id, TEMPLATE_INSTANCES)
    if cardinality(find_task(task_id).manifest.params) >= TEMPLATE_INSTANCES:
        assert distinct == TEMPLATE_INSTANCES
