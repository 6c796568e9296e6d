"""The suite `tools`: every task is sound, over the real services of the office."""

from collections import Counter

import pytest
from suite_checks import check_form, check_slots, check_soundness, folders_of, left_out

from agentgym import plugins
from agentgym.env.resolved_task import resolve_task
from agentgym.records import Phase
from agentgym.task.load import find_task
from agentgym.task.template import cardinality
from agentgym.verify.rubric.file import load_rubric

FOLDERS = folders_of("tools")
CATEGORIES = (
    "single-service",
    "cross-service",
    "dialogue",
    "living-world",
    "state-conflict",
    "refusal",
)
SEEDS = 20
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()

pytestmark = pytest.mark.asyncio(loop_scope="session")
every_task = pytest.mark.parametrize("task_id", FOLDERS)
# Many episodes with all seeds and properties, on a machine that may be busy.
many_episodes = pytest.mark.timeout(1200)


@every_task
@many_episodes
async def test_it_is_sound(task_id, stage, full, note):
    if resolve_task(find_task(task_id)).spec.sandbox is not None and PROBLEMS:
        pytest.skip(f"bubblewrap cannot run: {PROBLEMS}")
    await check_soundness(FOLDERS[task_id], stage, full=full, note=note)


async def test_every_property_is_examined_on_tasks_that_did_not_change():
    assert not left_out(FOLDERS)


async def test_the_suite_has_forty_tasks_of_every_category_and_a_quarter_are_templates():
    manifests = {task_id: find_task(task_id).manifest for task_id in FOLDERS}
    assert len(manifests) >= 40
    found = Counter(
        tag for manifest in manifests.values() for tag in manifest.tags if tag in CATEGORIES
    )
    assert min(found[category] for category in CATEGORIES) >= 4, found
    assert {m.difficulty for m in manifests.values()} == {"easy", "medium", "hard"}
    templates = [i for i, m in manifests.items() if cardinality(m.params) >= 4]
    assert 4 * len(templates) >= len(manifests), templates


@every_task
async def test_it_loads_with_three_mutants_that_say_why(task_id):
    check_form(task_id, outcomes=1)


@every_task
async def test_it_judges_the_way_and_the_harm_too(task_id):
    leaves = load_rubric(FOLDERS[task_id] / "checks" / "rubric.toml").leaves()
    assert {Phase.PROCESS, Phase.SAFETY} <= {leaf.phase for leaf in leaves}


@every_task
async def test_seeds_fill_every_slot(task_id):
    distinct = check_slots(task_id, SEEDS)
    assert distinct == 1 or distinct >= min(4, cardinality(find_task(task_id).manifest.params))
