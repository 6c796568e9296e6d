"""The first day of a job decides, whatever was shifted, missed or cut short."""

import json
from datetime import date, datetime, timedelta

import pytest

from chime import Calendar, Job, Scheduler, next_runs


def days(job, after, count, calendar=None):
    return [f"{run:%y-%m-%d}" for run in next_runs(job, datetime.fromisoformat(after), count, calendar)]


def job(rule, start, name="a", **more):
    return Job(name, f"{rule} at 08:00", start=start, **more)


def test_the_last_days_of_months():
    assert days(job("monthly on 31", "2026-01-31"), "2026-01-01", 6) == [
        "26-01-31", "26-02-28", "26-03-31", "26-04-30", "26-05-31", "26-06-30",
    ]
    assert days(job("every 3 months on 30", "2025-11-30"), "2026-01-01", 4) == ["26-02-28", "26-05-30", "26-08-30", "26-11-30"]


def test_months_are_counted_from_that_of_the_first_day():
    assert days(job("every 2 months on 5", "2026-01-20"), "2026-01-01", 3) == ["26-03-05", "26-05-05", "26-07-05"]


def test_29_february():
    assert days(job("yearly", "2024-02-29"), "2024-03-01", 5) == ["25-02-28", "26-02-28", "27-02-28", "28-02-29", "29-02-28"]


def test_weeks_are_counted_from_that_of_the_first_day():
    weeks = job("every 2 weeks on mon, thu", "2026-01-07")
    assert days(weeks, "2026-01-01", 5) == ["26-01-08", "26-01-19", "26-01-22", "26-02-02", "26-02-05"]
    sunday = job("every 2 weeks on mon", "2026-01-11")
    assert days(sunday, "2026-01-01", 2) == ["26-01-19", "26-02-02"]


CHRISTMAS = Calendar({"2026-12-25", "2027-01-01"})


def test_what_is_shifted_does_not_shift_what_follows():
    weekly = job("every 3 days", "2026-01-01", shift="after")
    assert days(weekly, "2026-01-01", 6) == ["26-01-01", "26-01-05", "26-01-07", "26-01-12", "26-01-13", "26-01-16"]
    assert days(job("monthly on 1", "2026-01-01", shift="before"), "2026-01-02", 3) == ["26-01-30", "26-02-27", "26-04-01"]
    assert days(job("every week on sat", "2026-01-03", shift="after"), "2026-01-01", 2) == ["26-01-05", "26-01-12"]
    assert days(job("yearly", "2024-02-29", shift="before"), "2024-03-01", 4) == ["25-02-28", "26-02-27", "27-02-26", "28-02-29"]


def test_a_day_has_one_run():
    assert days(job("every day", "2026-01-02", shift="after"), "2026-01-01", 3) == ["26-01-02", "26-01-05", "26-01-06"]
    assert days(job("every day", "2026-01-02", shift="before"), "2026-01-02T09:00", 3) == ["26-01-05", "26-01-06", "26-01-07"]


def test_no_run_is_before_the_first_day():
    assert days(job("every week on sat", "2026-01-03", shift="before"), "2025-12-01", 2) == ["26-01-09", "26-01-16"]


def test_skipped_runs_do_not_end_a_job():
    scheduler = Scheduler([job("every day", "2026-01-02", shift="skip", catch_up="all")], CHRISTMAS)
    assert [f"{due:%d}" for _, due in scheduler.advance(datetime(2026, 1, 8))] == ["02", "05", "06", "07"]
    monthly = job("monthly on 25", "2026-10-25", shift="skip")
    assert days(monthly, "2026-10-01", 3, CHRISTMAS) == ["26-11-25", "27-01-25", "27-02-25"]


RULES = [
    ("every 3 days", "2026-01-01"), ("every day", "2026-01-03"), ("every 2 weeks on mon, thu, sun", "2026-01-07"),
    ("every 3 weeks on fri", "2026-01-05"), ("monthly on 31", "2026-01-31"), ("every 5 months on 30", "2025-09-14"), ("yearly", "2024-02-29"),
]


@pytest.mark.parametrize("rule, start", RULES)
@pytest.mark.parametrize("shift", [None, "skip", "after", "before"])
@pytest.mark.parametrize("step", [11, 45])
def test_schedulers_and_next_runs_agree(tmp_path, rule, start, shift, step):
    """However often a scheduler is asked, and restarted."""
    calendar = Calendar({"2026-03-31", "2026-04-30", "2026-04-03", "2026-04-06"})
    wanted = [
        run for run in next_runs(job(rule, start, shift=shift), datetime(2000, 1, 1), 130, calendar) if run < datetime(2026, 5, 1)
    ]
    assert wanted == sorted(set(wanted)) and all(run.date() >= date.fromisoformat(start) for run in wanted)
    made, now = [], datetime(2025, 9, 1, 12)
    while now < datetime(2026, 5, 1):
        scheduler = Scheduler([job(rule, start, shift=shift)], calendar)
        scheduler.load(tmp_path / "state")
        made += [due for _, due in scheduler.advance(now)]
        scheduler.save(tmp_path / "state")
        now += timedelta(days=step)
    assert made == [run for run in wanted if run <= now - timedelta(days=step)]
    for at, run in enumerate(wanted[:-1]):
        assert next_runs(job(rule, start, shift=shift), run, 1, calendar) == [wanted[at + 1]]


def test_what_was_missed_runs_in_the_order_of_the_times():
    seen = []
    jobs = [
        job("every 2 days", "2026-01-01", name=name, run=lambda due, name=name: seen.append((name, due))) for name in ("z", "b")
    ] + [Job("m", "every 3 days at 07:00", start="2026-01-01", run=lambda due: seen.append(("m", due)))]
    made = Scheduler(jobs).advance(datetime(2026, 1, 5, 12))
    assert made == seen
    assert [f"{name}{due:%d}" for name, due in made] == ["m01", "z01", "b01", "z03", "b03", "m04", "z05", "b05"]


@pytest.mark.parametrize(
    "catch_up, wanted", [("all", ["01", "02", "03", "04", "05"]), ("last", ["04", "05"]), ("none", ["05"])]
)
def test_catching_up(catch_up, wanted):
    scheduler = Scheduler([job("every day", "2026-01-01", catch_up=catch_up, late_s=7200)])
    assert [f"{due:%d}" for _, due in scheduler.advance(datetime(2026, 1, 5, 9))] == wanted
    assert scheduler.advance(datetime(2026, 1, 5, 10)) == []
    assert [f"{due:%d}" for _, due in scheduler.advance(datetime(2026, 1, 6, 8))] == ["06"]


def test_what_is_as_late_as_late_s_is_made():
    scheduler = Scheduler([job("every day", "2026-01-01", catch_up="none", late_s=3600)])
    assert scheduler.advance(datetime(2026, 1, 1, 9)) == [("a", datetime(2026, 1, 1, 8))]


@pytest.mark.parametrize("catch_up, wanted", [("last", ["04"]), ("none", [])])
def test_what_was_not_caught_up_is_not_late_again(catch_up, wanted, tmp_path):
    scheduler = Scheduler([job("every day", "2026-01-01", catch_up=catch_up, late_s=60)])
    assert [f"{due:%d}" for _, due in scheduler.advance(datetime(2026, 1, 4, 20))] == wanted
    scheduler.save(tmp_path / "state")
    again = Scheduler([job("every day", "2026-01-01", catch_up=catch_up, late_s=60)])
    again.load(tmp_path / "state")
    assert again.advance(datetime(2026, 1, 4, 21)) == []
    assert [f"{due:%d}" for _, due in again.advance(datetime(2026, 1, 5, 8))] == ["05"]


def test_a_job_that_only_ever_was_late_goes_on():
    late = job("monthly on 31", "2026-01-31", catch_up="none", late_s=60)
    scheduler = Scheduler([late])
    assert scheduler.advance(datetime(2026, 3, 1)) == []
    assert scheduler.advance(datetime(2026, 3, 31, 8)) == [("a", datetime(2026, 3, 31, 8))]


def test_state_files_of_before(tmp_path):
    (tmp_path / "state").write_text(json.dumps({"a": "2026-04-28T08:00:00", "gone": "2026-01-01T08:00:00"}))
    scheduler = Scheduler([job("monthly on 31", "2026-01-31")])
    scheduler.load(tmp_path / "state")
    assert [f"{due:%m-%d}" for _, due in scheduler.advance(datetime(2026, 7, 1))] == ["04-30", "05-31", "06-30"]
    scheduler.save(tmp_path / "state")
    assert json.loads((tmp_path / "state").read_text())["a"] == "2026-06-30T08:00:00"


def test_a_run_that_fails_leaves_what_was_done_before():
    def broken(due):
        raise KeyError(due)

    seen = []
    scheduler = Scheduler([job("every day", "2026-01-01", name="good", run=seen.append), job("every day", "2026-01-02", name="bad", run=broken)])
    with pytest.raises(KeyError):
        scheduler.advance(datetime(2026, 1, 2, 7))
        scheduler.advance(datetime(2026, 1, 2, 9))
    assert len(seen) == 2
    with pytest.raises(KeyError):
        scheduler.advance(datetime(2026, 1, 2, 9))
    assert seen[0] == datetime(2026, 1, 1, 8) and len(seen) == len(set(seen))


def test_a_long_closure_does_not_end_a_job():
    closed = Calendar(str(date(2026, 1, 5) + timedelta(days=number)) for number in range(120))
    daily = job("every day", "2026-01-02", shift="skip")
    assert days(daily, "2026-01-01", 2, closed) == ["26-01-02", "26-05-05"]
    made = Scheduler([daily], closed).advance(datetime(2026, 5, 5, 12))
    assert [f"{due:%m-%d}" for _, due in made] == ["01-02", "05-05"]


def test_the_last_year_of_a_century_is_no_leap_year():
    yearly = Job("a", "yearly at 08:00", start="2088-02-29")
    assert [f"{run:%Y-%m-%d}" for run in next_runs(yearly, datetime(2096, 2, 1), 5)] == [
        "2096-02-29", "2097-02-28", "2098-02-28", "2099-02-28", "2100-02-28",
    ]
    assert days(job("monthly on 31", "2099-12-31"), "2100-01-01", 3) == ["00-01-31", "00-02-28", "00-03-31"]


@pytest.mark.parametrize(("late_s", "made"), [(0.5, 1), (0.25, 0)])
def test_a_run_may_be_late_by_a_part_of_a_second(late_s, made):
    scheduler = Scheduler([job("every day", "2026-01-05", catch_up="none", late_s=late_s)])
    assert len(scheduler.advance(datetime(2026, 1, 5, 8, 0, 0, 500_000))) == made
