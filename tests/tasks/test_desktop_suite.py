"""The suite `desktop`: every task is sound; needs the image of the recipe `desktop`."""

import pytest
from built_images import take_image
from suite_checks import check_form, check_soundness, folders_of

from agentgym import plugins

FOLDERS = folders_of("desktop")
SAMPLE = ("missing-invoice",)
"""Examined on every change, where the image is built."""
STEADY = ("schema", "oracle", "noop", "template", "gold")
"""Properties that it is examined for."""
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()

pytestmark = pytest.mark.asyncio(loop_scope="session")
every_task = pytest.mark.parametrize("task_id", FOLDERS)


@pytest.mark.desktop
@pytest.mark.slow
@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
@every_task
@pytest.mark.timeout(1800)
async def test_it_is_sound(task_id, stage, full, note):
    # An examination starts dozens of desktops and takes minutes: `make sound` and `make test-full`.
    if not full and not note and FOLDERS[task_id].name not in SAMPLE:
        pytest.skip("desktops are examined by `make sound` and `make test-full`")
    take_image("desktop")
    await check_soundness(FOLDERS[task_id], stage, full=full, note=note, briefly=STEADY)


@every_task
async def test_it_loads_with_three_mutants_that_say_why(task_id):
    check_form(task_id, outcomes=1)
