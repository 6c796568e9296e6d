"""Measures how long it takes to prove tasks sound."""

from __future__ import annotations

import time
from collections.abc import Sequence

from agentgym.authoring.check import DEFAULT_SEEDS, check_tasks, default_jobs
from agentgym.authoring.choose import task_folders
from agentgym.authoring.stage import open_stage
from agentgym.bench.series import Figure, Figures

KEY = "task_check_s"
TASK_CHECK = Figure(KEY, "task check, the whole suite", "s", 300.0)


async def measure_task_check(figures: Figures, patterns: Sequence[str]) -> None:
    """Fill ``task_check_s``: the wall time of `agentgym task check` over some tasks.

    Args:
        figures: Receives the figure, and a note on the amount of work.
        patterns: Tasks to check, in sandboxes of bubblewrap.
    """
    folders = task_folders(patterns)
    stage = open_stage("bubblewrap", default_jobs())
    try:
        began_s = time.perf_counter()
        reports = await check_tasks(folders, stage, seeds=DEFAULT_SEEDS)
        figures[KEY].samples.append(time.perf_counter() - began_s)
    finally:
        await stage.close()
    unsound = sum(not report.sound for report in reports)
    figures.notes.append(
        f"task check: {len(reports)} tasks, {sum(report.episodes for report in reports)} episodes, "
        f"{unsound} unsound."
    )
