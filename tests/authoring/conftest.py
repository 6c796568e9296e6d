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
    """Write the example, a template, with other contents in the files that are named.

    None leaves a file out.
    """

    def laid_down(changes: Mapping[str, str | None]) -> Path:
        folder = new_task("zoo/feed", env="terminal", template=True, root=tmp_path)
        for name, text in changes.items():
            path = folder / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(exist_ok=True)
            path.write_text(text.replace("…\n", path.read_text() if path.exists() else ""))
        return folder

    return laid_down
