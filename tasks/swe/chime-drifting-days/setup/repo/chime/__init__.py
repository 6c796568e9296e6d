"""Runs jobs at days and times."""

from chime.calendar import Calendar
from chime.job import Job
from chime.rule import RuleError
from chime.runs import next_runs
from chime.scheduler import Scheduler

__all__ = ["Calendar", "Job", "RuleError", "Scheduler", "next_runs"]
