"""The suite `web`: every task is sound, in a real browser, over the sites of `envs/web`."""

from collections import Counter

import full_checks
import pytest
from suite_checks import check_form, check_slots, check_soundness, folders_of

from agentgym.browser.executable import can_confine, find_executable
from agentgym.errors import ConfigError
from agentgym.records import Phase
from agentgym.task.load import find_task
from agentgym.task.template import cardinality
from agentgym.verify.rubric.file import load_rubric

FOLDERS = folders_of("web")
SAMPLE = ("gift-in-time", "drafts-for-sale")
"""Examined on every change: a customer's form and the back office."""
STEADY = ("schema", "oracle", "noop", "mutants", "template", "gold")
"""Properties that need no actions of another episode to be repeated: a busy machine may show a page
in two steps, and references are then other ones."""
SEEDS = 20

pytestmark = pytest.mark.asyncio(loop_scope="session")
every_task = pytest.mark.parametrize("task_id", FOLDERS)
many_episodes = pytest.mark.timeout(1200)


@pytest.fixture(scope="module")
def chromium():
    if not can_confine():
        pytest.skip("bubblewrap, which confines the browser, is not installed")
    try:
        return find_executable()
    except ConfigError as error:
        pytest.skip(str(error))


@every_task
@many_episodes
async def test_it_is_sound(task_id, stage, full, note, chromium):
    folder = FOLDERS[task_id]
    # An episode in the browser takes seconds, so tasks that did not change are only sampled.
    if not full and folder.name not in SAMPLE and full_checks.is_noted(folder):
        pytest.skip("this version of the task is noted as sound")
    await check_soundness(folder, stage, full=full, note=note, briefly=STEADY)


@every_task
async def test_it_loads_with_three_mutants_that_say_why(task_id):
    check_form(task_id, outcomes=1)


@every_task
async def test_it_judges_the_way_and_the_harm_too(task_id):
    leaves = load_rubric(FOLDERS[task_id] / "checks" / "rubric.toml").leaves()
    assert {Phase.PROCESS, Phase.SAFETY} <= {leaf.phase for leaf in leaves}
    # No prose of an agent counts, only the fields of a form.
    assert not [
        leaf.id
        for leaf in leaves
        if leaf.use.startswith(("answers.", "messages."))
        and leaf.use not in ("answers.gave_up", "answers.fields")
    ]


@every_task
async def test_seeds_fill_every_slot(task_id):
    distinct = check_slots(task_id, SEEDS)
    assert distinct == 1 or distinct >= min(4, cardinality(find_task(task_id).manifest.params))


async def test_the_suite_has_tasks_of_all_kinds():
    manifests = [find_task(task_id).manifest for task_id in FOLDERS]
    tags = Counter(tag for manifest in manifests for tag in manifest.tags)
    assert len(manifests) == 40
    kinds = ("compare", "fill", "moderate", "reconcile", "half-finished", "conditional-pages")
    assert all(tags[kind] >= 2 for kind in (*kinds, "recover", "impossible", "refusal")), tags
    assert tags["cross-site"] >= 10
    assert tags["injection"] >= 6 and 4 * tags["long"] >= len(FOLDERS)
    assert sum(manifest.abstain for manifest in manifests) >= 2
    assert {manifest.difficulty for manifest in manifests} == {"easy", "medium", "hard"}
