"""The promises of the README on jobs and schedulers that no line of the issue changes."""

import json
from datetime import datetime, timedelta

import pytest

from chime import Calendar, Job, RuleError, Scheduler, next_runs


def test_jobs_that_are_gone_are_forgotten(tmp_path):
    (tmp_path / "state").write_text(json.dumps({"gone": "2026-01-02T08:00:00", "b": "2026-01-02T08:00:00"}))
    scheduler = Scheduler([Job("b", "every day at 08:00", start="2026-01-01"), Job("a", "every day at 08:00", start="2026-01-03")])
    scheduler.load(tmp_path / "state")
    assert scheduler.advance(datetime(2026, 1, 3, 8)) == [("b", datetime(2026, 1, 3, 8)), ("a", datetime(2026, 1, 3, 8))]
    scheduler.save(tmp_path / "state")
    assert json.loads((tmp_path / "state").read_text()) == dict.fromkeys("ab", "2026-01-03T08:00:00")


@pytest.mark.parametrize("catch_up, days", [("all", [1, 2, 3, 4]), ("last", [3, 4]), ("none", [4])])
def test_run_is_called_with_the_time_at_which_it_was_due(catch_up, days):
    seen = []
    job = Job("a", "every day at 08:00", start="2026-01-01", run=seen.append, catch_up=catch_up, late_s=7200)
    made = Scheduler([job]).advance(datetime(2026, 1, 4, 9, 30))
    assert seen == [datetime(2026, 1, day, 8) for day in days]
    assert made == [("a", due) for due in seen]


def test_a_shifted_run_is_called_with_the_shifted_time():
    seen = []
    Scheduler([Job("a", "every day at 08:00", start="2026-01-03", run=seen.append, shift="after")]).advance(datetime(2026, 1, 5, 9))
    assert seen == [datetime(2026, 1, 5, 8)]


def test_without_a_state_file_nothing_was_run(tmp_path):
    scheduler = Scheduler([Job("a", "every day at 08:00", start="2026-01-01")])
    scheduler.load(tmp_path / "none")
    assert len(scheduler.advance(datetime(2026, 1, 2, 9))) == 2


def test_without_a_calendar_weekends_are_skipped():
    job = Job("a", "every day at 08:00", start="2026-01-02", shift="skip")
    assert next_runs(job, datetime(2026, 1, 1), 2) == [datetime(2026, 1, 2, 8), datetime(2026, 1, 5, 8)]
    assert next_runs(job, datetime(2026, 1, 2, 8), 1, Calendar({"2026-01-05"})) == [datetime(2026, 1, 6, 8)]
    assert next_runs(job, datetime(2026, 1, 1), 0) == []


def test_a_calendar_without_working_days_is_told():
    days = (datetime(2026, 1, 1) + timedelta(days=number) for number in range(120))
    closed = Calendar(f"{day:%Y-%m-%d}" for day in days)
    with pytest.raises(ValueError):
        next_runs(Job("a", "every day at 08:00", start="2026-01-02", shift="after"), datetime(2026, 1, 1), 1, closed)


@pytest.mark.parametrize("rule", ["", "every 0 days at 08:00", "monthly at 08:00", "monthly on 32 at 08:00", "every week on day at 08:00", "every day at 25:00"])
def test_what_is_no_rule(rule):
    with pytest.raises(RuleError):
        Job("a", rule, start="2026-01-01")


@pytest.mark.parametrize("options", [{"shift": "later"}, {"catch_up": "some"}])
def test_what_is_no_job(options):
    with pytest.raises(ValueError):
        Job("a", "every day at 08:00", start="2026-01-01", **options)
