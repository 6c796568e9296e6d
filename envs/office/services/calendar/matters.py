"""Titles and descriptions of the office's meetings, and its rooms."""

from __future__ import annotations

ROOMS = (
    ("Birch", "Berlin", 4, 1), ("Linden", "Berlin", 8, 1), ("Oak", "Berlin", 16, 1),
    ("Beech", "Berlin", 6, 0), ("Tagus", "Lisbon", 4, 1), ("Alfama", "Lisbon", 10, 1),
    ("Belém", "Lisbon", 6, 0), ("Spadina", "Toronto", 4, 1), ("Humber", "Toronto", 12, 1),
    ("Orchid", "Singapore", 4, 1), ("Merlion", "Singapore", 8, 1),
)  # fmt: skip
"""Name, office, seats, whether the room has video."""

INSIDE = (
    ("Budget review", "Actuals against plan, and what moves to the next quarter."),
    ("Onboarding check-in", "How the first weeks went; open questions."),
    ("Incident review", "What happened, what we change. No blame."),
    ("Release planning", "What goes in, what waits, who tests."),
    ("Design critique", "Bring screens; two topics at most."),
    ("Contract walk-through", "Clauses 4 to 9, with the comments so far."),
    ("Hiring debrief", "Scorecards are to be in before the meeting."),
    ("Office move", "Desks, keys, and who packs what."),
    ("Pricing workshop", "Three options, one decision."),
    ("Security review", "Findings of the last scan, by severity."),
    ("Quarter planning", "Goals first, then people."),
    ("Website copy", "Second draft; please comment in the document before."),
)

WITH_CUSTOMERS = (
    ("Call with {company}", "Status of their open questions; renewal is in sight."),
    ("Demo for {company}", "Show the new reports; keep it to half an hour."),
    ("{company}: kick-off", "Introductions, plan, who calls whom."),
)

WITH_SUPPLIERS = (
    ("{company}: offer", "Go through the offer line by line."),
    ("Meeting with {company}", "Yearly review of the contract."),
)

CANCELLED = (
    "Overtaken by events.",
    "Too few can make it; a new date follows.",
    "We have settled this by mail.",
    "The other side asked for another week.",
)
