"""A stage that the tests share, and small tasks that are broken in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from agentgym import plugins
from agentgym.authoring.scaffold import new_task
from agentgym.authoring.stage import Stage

PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def stage():
    if PROBLEMS:
        pytest.skip(f"bubblewrap cannot run: {PROBLEMS}")
    stage = Stage(plugins.load("agentgym.sandboxes", "bubblewrap")(), jobs=4)
    yield stage
    await stage.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, str | None]], Path]:
    """Write the example, a template, with other contents in the files that are named."""
    return lambda changes: _lay_down(tmp_path, "zoo/feed", "terminal", changes)


@pytest.fixture
def write_services(tmp_path: Path) -> Callable[[Mapping[str, str | None]], Path]:
    """Write the example for services in the same way."""
    return lambda changes: _lay_down(tmp_path, "zoo/desk", "office", changes)


def _lay_down(root: Path, name: str, env: str, changes: Mapping[str, str | None]) -> Path:
    folder = new_task(name, env=env, template=True, root=root)
    for path, text in changes.items():
        place = folder / path
        if text is None:
            place.unlink()
            continue
        place.parent.mkdir(exist_ok=True)
        place.write_text(text.replace("…\n", place.read_text() if place.exists() else ""))
    return folder
