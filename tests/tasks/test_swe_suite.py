"""The suite `swe`: every task is sound, and its lists of tests are those that two runs give."""

import pytest
from suite_checks import check_form, check_soundness, folders_of
from swe_images import take_image

from agentgym import plugins
from agentgym.env.spec import spec_of
from agentgym.sandbox.recipe import load_recipe
from agentgym.swe.native import Issue
from agentgym.task.load import find_task

FOLDERS = folders_of("swe")
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()

pytestmark = pytest.mark.asyncio(loop_scope="session")
every_task = pytest.mark.parametrize("task_id", FOLDERS)
many_episodes = pytest.mark.timeout(1200)


@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
@every_task
@many_episodes
async def test_it_is_sound(task_id, stage, full, note):
    take_image()
    await check_soundness(FOLDERS[task_id], stage, full=full, note=note)


@every_task
async def test_it_loads_with_three_mutants_that_say_why(task_id):
    check_form(task_id, outcomes=1)


@every_task
async def test_its_hidden_tests_are_named_and_the_agent_never_sees_them(task_id):
    task = find_task(task_id)
    issue = Issue(task.folder / "checks")
    assert issue.fail_to_pass and issue.pass_to_pass
    assert not set(issue.fail_to_pass) & set(issue.pass_to_pass)
    shown = {path.read_bytes() for path in (task.folder / "setup").rglob("*") if path.is_file()}
    hidden = {path for path, entry in issue.hidden.items() if entry.data in shown and entry.data}
    assert not hidden, f"the agent finds {hidden} in its repository"
    files = {name.partition("::")[0] for name in issue.fail_to_pass}
    assert files <= set(issue.hidden), "each failing test stands in a hidden file"


@every_task
async def test_its_sandbox_has_no_network(task_id):
    sandbox = spec_of(find_task(task_id)).sandbox
    assert load_recipe(sandbox).network == "none"
