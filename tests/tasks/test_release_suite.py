"""The suite `swe-releases`: each pair becomes a sound task, as far as its releases can be had."""

import shutil

import pytest
from built_images import USERS, take_image
from suite_checks import check_soundness

from agentgym import catalogue, plugins
from agentgym.errors import TaskError
from agentgym.swe.releases.download import source_archive
from agentgym.swe.releases.pair import bundled_pairs
from agentgym.swe.releases.task_folder import SUITE, write_release_task

PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(1200),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}"),
]


@pytest.fixture
def downloaded(session_cache):
    """Let the session's cache have the releases that the user's cache has."""
    kept = USERS.parent / "releases"
    if kept.is_dir():
        shutil.copytree(kept, catalogue.cache_dir() / "releases", dirs_exist_ok=True)


@pytest.mark.parametrize("name", bundled_pairs())
async def test_it_is_sound(name, stage, note, downloaded, tmp_path):
    take_image("swe-python")
    pair = bundled_pairs()[name]
    try:
        for release in (pair.base, pair.fixed):
            source_archive(pair.package, release)
    except TaskError as error:
        pytest.skip(str(error))
    folder = write_release_task(tmp_path / SUITE, name, pair)
    await check_soundness(folder, stage, full=not note, note=note)
