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


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("Hourly", "no rule: 'Hourly'"),
        ("every 0 days at 08:00", "'every 0 days at 08:00': every 0 days"),
        ("monthly on 32 at 08:00", "'monthly on 32 at 08:00': no day of a month: 32"),
        ("monthly on 0 at 08:00", "'monthly on 0 at 08:00': no day of a month: 0"),
        ("monthly at 08:00", "'monthly at 08:00': a rule by month needs 'on'"),
        ("every day on mon at 08:00", "'every day on mon at 08:00': a rule by day has no 'on'"),
        ("yearly on 1 at 08:00", "'yearly on 1 at 08:00': a rule by year has no 'on'"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(rule, told):
    with pytest.raises(RuleError) as caught:
        Job("a", rule, start="2026-01-01")
    assert str(caught.value) == told


@pytest.mark.parametrize("rule", ["every day at 24:00", "every day at 08:60", "monthly on x at 08:00", "every week on mon, at 08:00"])
def test_what_else_is_no_rule(rule):
    with pytest.raises(RuleError):
        Job("a", rule, start="2026-01-01")


@pytest.mark.parametrize(
    ("rule", "other"),
    [
        (" Every DAY at 8:00 ", "every 1 days at 08:00"),
        ("every week on Sun, mon,sun at 08:00", "every 1 weeks on mon, sun at 08:00"),
        ("monthly on 5 at 08:00", "every month on 5 at 08:00"),
    ],
)
def test_rules_in_other_words(rule, other):
    runs = [next_runs(Job("a", text, start="2026-01-01"), datetime(2026, 1, 1), 5) for text in (rule, other)]
    assert runs[0] == runs[1] and len(runs[0]) == 5


def test_jobs_say_what_is_wrong_with_them():
    with pytest.raises(ValueError) as caught:
        Job("bill", "every day at 08:00", start="2026-01-01", shift="later")
    assert str(caught.value) == "bill: shift 'later', catch_up 'all'"
    with pytest.raises(ValueError):
        Job("bill", "every day at 08:00", start="2026-13-01")


def test_state_files_stay_what_they_are(tmp_path):
    jobs = [Job(name, "every day at 08:00", start="2026-01-01") for name in ("zoo", "ärger", "a")]
    scheduler = Scheduler(jobs)
    scheduler.advance(datetime(2026, 1, 1, 9))
    scheduler.save(str(tmp_path / "state"))
    rows = ",\n".join(f' {json.dumps(name)}: "2026-01-01T08:00:00"' for name in ("a", "zoo", "ärger"))
    assert (tmp_path / "state").read_bytes().decode() == f"{{\n{rows}\n}}\n"
    again = Scheduler(jobs)
    again.load(str(tmp_path / "state"))
    assert again.advance(datetime(2026, 1, 2, 7)) == []


def test_another_state_file_replaces_what_was_known(tmp_path):
    scheduler = Scheduler([Job("a", "every day at 08:00", start="2026-01-01")])
    scheduler.save(tmp_path / "state")
    scheduler.advance(datetime(2026, 1, 1, 9))
    scheduler.load(tmp_path / "state")
    assert len(scheduler.advance(datetime(2026, 1, 1, 9))) == 1


def test_jobs_and_days_may_come_one_by_one():
    calendar = Calendar(day for day in ["2026-01-02"])
    job = Job("a", "every day at 08:00", start="2026-01-02", shift="after")
    scheduler = Scheduler((one for one in [job]), calendar)
    assert list(scheduler.jobs) == ["a"] and scheduler.calendar is calendar
    assert scheduler.advance(datetime(2026, 1, 5, 8)) == [("a", datetime(2026, 1, 5, 8))]


def test_how_far_a_run_is_shifted():
    def closed(days):
        return Calendar(f"{datetime(2026, 1, 2) + timedelta(days=number):%Y-%m-%d}" for number in range(days))

    job = Job("a", "every day at 08:00", start="2026-01-02", shift="after")
    assert next_runs(job, datetime(2026, 1, 1), 1, closed(60)) == [datetime(2026, 3, 3, 8)]
    with pytest.raises(ValueError, match="no working day within 60 days"):
        next_runs(job, datetime(2026, 1, 1), 1, closed(61))


@pytest.mark.parametrize("name", ["mon", "tue", "wed", "thu", "fri", "sat", "sun"])
def test_days_of_the_week(name):
    job = Job("a", f"every week on {name} at 08:00", start="2026-01-05")
    (run,) = next_runs(job, datetime(2026, 1, 1), 1)
    assert run == datetime(2026, 1, 5 + ["mon", "tue", "wed", "thu", "fri", "sat", "sun"].index(name), 8)
