"""The time of a check is measured over what was asked for."""

import re
from dataclasses import replace

import pytest

from agentgym import plugins
from agentgym.authoring.scaffold import new_task
from agentgym.bench.authoring import TASK_CHECK, measure_task_check
from agentgym.bench.series import Figures

PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()


@pytest.mark.full
@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
async def test_it_counts_what_it_checked(tmp_path):
    for name in ("zoo/feed", "zoo/clean"):
        folder = new_task(name, env="terminal", template=False, root=tmp_path)
    (folder / "solution" / "solve.sh").write_text("true\n")
    (folder / "mutants" / "drops_the_others.patch").unlink()
    figures = Figures(replace(TASK_CHECK, samples=[]))
    await measure_task_check(figures, [str(tmp_path / "tasks")])
    assert figures["task_check_s"].samples[0] > 0
    (note,) = figures.notes
    tasks, episodes, unsound = map(int, re.findall(r"\d+", note))
    assert (tasks, unsound) == (2, 1)
    assert episodes > 30
