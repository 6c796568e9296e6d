"""Finds who lies where, and which berths are free."""

from quay.book import listed
from quay.stay import length, lies_here


def lines(records):
    """Return a line for each stay."""
    return [f"{r['berth']:<4} {r['boat']:<12} {r['from']} {r.get('until', '')}".rstrip() for r in listed(records)]


def on(records, day):
    """Return the stays of a day by berth."""
    return {record["berth"]: record["boat"] for record in records if lies_here(record, day)}


def free(records, day, metres):
    """Return the berths where a boat fits on a day: as long as the longest that ever lay there."""
    longest = {}
    for record in records:
        berth = record["berth"]
        longest[berth] = max(longest.get(berth, 0), length(record))
    taken = on(records, day)
    return sorted(berth for berth, most in longest.items() if most >= metres and berth not in taken)
