"""One stay."""

from datetime import date


def begins(record):
    """Return the day of arrival."""
    return date.fromisoformat(record["from"])


def ends(record):
    """Return the day of departure; None if the boat stays."""
    text = record.get("until")
    return date.fromisoformat(text) if text else None


def length(record):
    """Return the length of the boat in metres; 0 if it is not known."""
    return int(record.get("length", "0"))


def lies_here(record, day):
    """Return whether the boat lies here in the night that follows a day."""
    end = ends(record)
    return begins(record) <= day and (end is None or day < end)
