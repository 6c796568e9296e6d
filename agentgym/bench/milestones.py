"""Measures the cost of milestones: the time between two steps in which a guest is inspected.

The task has three checks that never hold, so that every step inspects the guest, and one shell and
one background process, so that there are processes to stop.
"""

from __future__ import annotations

import time
from pathlib import Path

from agentgym.bench.series import Figure, Figures
from agentgym.env.environment import Environment
from agentgym.protocols import SandboxProvider
from agentgym.records import Action
from agentgym.task.load import load_task

KEY = "every_step_ms.p50"
EVERY_STEP = Figure(KEY, "milestones, a step", "ms", 5.0)

_CHECKPOINT = """
[[checkpoint]]
id = "{name}"
use = "files.text_equals"
with = {{ path = "/srv/{name}", text = "done" }}
when = "every_step"
"""
_FILES = {
    "task.toml": 'schema_version = "agentgym.task/1"\nid = "bench/milestones-v1"\n'
    'title = "Never done"\ndifficulty = "easy"\nenv = "terminal"\nmax_steps = 100000\n',
    "instruction.md": "Submit.\n",
    "setup/setup.sh": "for f in a b c; do echo begun > /srv/$f; done\n",
    "solution/solve.sh": "true\n",
    "checks/rubric.toml": 'schema_version = "agentgym.rubric/1"\n'
    + "".join(_CHECKPOINT.format(name=name) for name in "abc"),
}


async def measure_milestones(
    figures: Figures, provider: SandboxProvider, folder: Path, steps: int
) -> None:
    """Fill ``every_step_ms.p50``: the time of a step beyond its own command, in ms.

    Args:
        figures: Receives the figure.
        provider: Starts the sandbox.
        folder: An empty folder for the task.
        steps: Number of steps to measure.
    """
    task_folder = folder / "bench" / "milestones"
    for name, text in _FILES.items():
        (task_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (task_folder / name).write_text(text)
    environment = Environment(load_task(task_folder), provider)
    try:
        episode = await environment.start(0)
        await episode.step(Action("bash", {"command": "sleep 1000 &"}))
        for _ in range(steps):
            started = time.perf_counter()
            await episode.step(Action("bash", {"command": "true"}))
            whole_s = time.perf_counter() - started
            figures[KEY].samples.append((whole_s - episode.steps[-1].duration_s) * 1e3)
    finally:
        await environment.close()
