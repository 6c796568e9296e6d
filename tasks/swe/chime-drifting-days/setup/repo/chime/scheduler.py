"""Schedulers."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from chime.calendar import Calendar
from chime.job import Job
from chime.runs import run_after
from chime.state import read_state, write_state


class Scheduler:
    """Runs jobs when they are due.

    Args:
        jobs: Jobs with different names.
        calendar: Working days.
    """

    def __init__(self, jobs: Iterable[Job], calendar: Calendar | None = None) -> None:
        self.jobs = {job.name: job for job in jobs}
        self.calendar = calendar or Calendar()
        self._last: dict[str, datetime] = {}

    def load(self, path: Path | str) -> None:
        """Go on where a state file ends; jobs that are gone are ignored."""
        self._last = {n: due for n, due in read_state(path).items() if n in self.jobs}

    def save(self, path: Path | str) -> None:
        write_state(path, self._last)

    def advance(self, now: datetime) -> list[tuple[str, datetime]]:
        """Run what is due; return the names of the jobs and the times of their runs."""
        made = []
        for job in self.jobs.values():
            for due in self._due(job, now):
                job.run(due)
                self._last[job.name] = due
                made.append((job.name, due))
        return made

    def _due(self, job: Job, now: datetime) -> list[datetime]:
        late, due = [], []
        following = run_after(job, self._last.get(job.name), self.calendar)
        while following is not None and following <= now:
            if now - following > timedelta(seconds=job.late_s):
                late.append(following)
            else:
                due.append(following)
            following = run_after(job, following, self.calendar)
        if job.catch_up == "last":
            late = late[:1]
        elif job.catch_up == "none":
            late = []
        return late + due
