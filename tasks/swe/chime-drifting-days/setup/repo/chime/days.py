"""The days of a rule."""

from calendar import monthrange
from datetime import date, timedelta

from chime.rule import Rule


def first_day(rule: Rule, start: date) -> date:
    """Return the first day of a rule that is not before a day."""
    if rule.unit == "week":
        return _weekday_from(rule, start)
    if rule.unit == "month":
        day = in_month(start.year, start.month, rule.on[0])
        return day if day >= start else _months_later(day, rule.count, rule.on[0])
    return start


def day_after(rule: Rule, day: date) -> date:
    """Return the day of a rule that follows one of its days."""
    if rule.unit == "day":
        return day + timedelta(days=rule.count)
    if rule.unit == "week":
        following = [on for on in rule.on if on > day.weekday()]
        if following:
            return day + timedelta(days=following[0] - day.weekday())
        monday = day - timedelta(days=day.weekday())
        return monday + timedelta(weeks=rule.count, days=rule.on[0])
    if rule.unit == "month":
        return _months_later(day, rule.count, day.day)
    return in_month(day.year + 1, day.month, day.day)


def in_month(year: int, month: int, day: int) -> date:
    """Return a day of a month, or its last one if it has no such day."""
    return date(year, month, min(day, monthrange(year, month)[1]))


def _weekday_from(rule: Rule, start: date) -> date:
    for days in range(7):
        day = start + timedelta(days=days)
        if day.weekday() in rule.on:
            return day
    raise AssertionError("a rule by week has a day")


def _months_later(day: date, months: int, on: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return in_month(year, month + 1, on)
