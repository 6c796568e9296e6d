"""When a job runs."""

from datetime import datetime

from chime.calendar import Calendar
from chime.days import day_after, first_day
from chime.job import Job


def next_runs(
    job: Job, after: datetime, count: int, calendar: Calendar | None = None
) -> list[datetime]:
    """Return the runs of a job after a time, the first ones."""
    calendar = calendar or Calendar()
    found: list[datetime] = []
    day = first_day(job.rule, job.start)
    while len(found) < count:
        shifted = calendar.shifted(day, job.shift)
        if shifted is not None:
            due = datetime.combine(shifted, job.rule.at)
            if due > after:
                found.append(due)
            day = max(day, shifted)
        day = day_after(job.rule, day)
    return found


def run_after(job: Job, last: datetime | None, calendar: Calendar) -> datetime | None:
    """Return the run of a job that follows its last one; the first one if there was none."""
    if last is None:
        day = first_day(job.rule, job.start)
    else:
        day = day_after(job.rule, last.date())
    while (shifted := calendar.shifted(day, job.shift)) is not None:
        due = datetime.combine(shifted, job.rule.at)
        if last is None or due > last:
            return due
        day = day_after(job.rule, day)
    return None
