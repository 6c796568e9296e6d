from datetime import datetime

import pytest

from chime import Calendar, Job, RuleError, Scheduler, next_runs


def days(job, after, count, calendar=None):
    return [f"{run:%m-%d}" for run in next_runs(job, datetime.fromisoformat(after), count, calendar)]


def test_rules_by_days_and_weeks():
    assert days(Job("a", "every 3 days at 08:00", start="2026-01-01"), "2026-01-01T08:00", 3) == ["01-04", "01-07", "01-10"]
    job = Job("a", "every 2 weeks on thu, mon at 8:00", start="2026-01-05")
    assert days(job, "2026-01-01", 4) == ["01-05", "01-08", "01-19", "01-22"]


def test_a_day_that_a_month_does_not_have_is_its_last_one():
    assert days(Job("a", "monthly on 31 at 08:00", start="2026-01-31"), "2026-01-01", 2) == ["01-31", "02-28"]


@pytest.mark.parametrize(
    "text", ["hourly", "every 0 days at 08:00", "monthly at 08:00", "every week on day at 08:00", "yearly at 25:00", "monthly on 32 at 08:00"]
)
def test_what_is_no_rule(text):
    with pytest.raises(RuleError):
        Job("a", text, start="2026-01-01")


def test_calendars():
    calendar = Calendar({"2026-12-25"})
    job = Job("a", "yearly at 08:00", start="2026-12-25", shift="after")
    assert next_runs(job, datetime(2026, 1, 1), 1, calendar) == [datetime(2026, 12, 28, 8)]


def test_what_is_due_runs_once(tmp_path):
    seen = []
    job = Job("a", "every day at 08:00", start="2026-01-01", run=seen.append)
    scheduler = Scheduler([job])
    assert scheduler.advance(datetime(2026, 1, 1, 7)) == []
    assert scheduler.advance(datetime(2026, 1, 1, 8)) == [("a", datetime(2026, 1, 1, 8))]
    assert scheduler.advance(datetime(2026, 1, 1, 9)) == []
    scheduler.save(tmp_path / "state")
    again = Scheduler([job])
    again.load(tmp_path / "state")
    assert again.advance(datetime(2026, 1, 2, 9)) == [("a", datetime(2026, 1, 2, 8))]
    assert seen == [datetime(2026, 1, 1, 8), datetime(2026, 1, 2, 8)]
