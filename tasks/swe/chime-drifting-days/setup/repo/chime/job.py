"""Jobs."""

from collections.abc import Callable
from datetime import date, datetime

from chime.rule import read_rule

SHIFTS = (None, "skip", "after", "before")
CATCH_UP = ("all", "last", "none")


class Job:
    """Something that runs by a rule.

    Args:
        name: Unique in a scheduler.
        rule: See the README.
        start: The first day, `YYYY-MM-DD`.
        run: Called with the time of a run.
        shift: What happens to runs on days that are skipped.
        catch_up: What happens to late runs.
        late_s: Seconds after which a run is late.
    """

    def __init__(
        self,
        name: str,
        rule: str,
        *,
        start: str,
        run: Callable[[datetime], object] = lambda due: None,
        shift: str | None = None,
        catch_up: str = "all",
        late_s: float = 3600,
    ) -> None:
        if shift not in SHIFTS or catch_up not in CATCH_UP:
            raise ValueError(f"{name}: shift {shift!r}, catch_up {catch_up!r}")
        self.name, self.run = name, run
        self.rule, self.start = read_rule(rule), date.fromisoformat(start)
        self.shift, self.catch_up, self.late_s = shift, catch_up, late_s
