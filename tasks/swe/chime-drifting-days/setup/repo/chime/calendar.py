"""Working days."""

from collections.abc import Iterable
from datetime import date, timedelta

_LONGEST = 60


class Calendar:
    """Monday to Friday without some days (`YYYY-MM-DD`)."""

    def __init__(self, skipped: Iterable[str] = ()) -> None:
        self._skipped = {date.fromisoformat(day) for day in skipped}

    def works(self, day: date) -> bool:
        return day.weekday() < 5 and day not in self._skipped

    def shifted(self, day: date, shift: str | None) -> date | None:
        """Return the day on which a run of a day takes place; None: on none."""
        if shift is None or self.works(day):
            return day
        if shift == "skip":
            return None
        step = timedelta(days=1 if shift == "after" else -1)
        for _ in range(_LONGEST):
            day += step
            if self.works(day):
                return day
        raise ValueError(f"no working day within {_LONGEST} days of {day}")
