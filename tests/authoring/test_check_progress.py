"""The progress that a check of tasks prints."""

import io

import pytest
from rich.console import Console

from agentgym.authoring import progress
from agentgym.authoring.finding import Report


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def test_a_long_task_has_a_line_every_half_minute_without_a_terminal(clock):
    told = io.StringIO()
    with progress.CheckProgress(Console(file=told, width=200), 2) as shown:
        shown.begin("tasks/desktop/one")
        for _ in range(70):
            clock.now += 1
            shown.episode("tasks/desktop/one")
        shown.end("tasks/desktop/one", Report("desktop/one-v1", (), episodes=70, duration_s=70))
    assert told.getvalue().splitlines() == [
        "… tasks/desktop/one: 0 of 2 tasks, 0 unsound, 30 episodes, 30 s",
        "… tasks/desktop/one: 0 of 2 tasks, 0 unsound, 60 episodes, 60 s",
        "[1/2] desktop/one-v1  sound  70 episodes, 70.0 s",
    ]
