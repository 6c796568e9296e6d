"""Goes from heading to heading with the search bar, and replaces the name by the dialog."""

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")

TITLE = "Minutes of the works council"
HEADINGS = (
    ("Office move", 1),
    ("Desks", 2),
    ("Bicycles", 2),
    ("Working hours", 1),
    ("Home office", 2),
    ("Overtime", 2),
    ("Training", 1),
    ("Languages", 2),
    ("Any other business", 1),
)


def solve(view):
    yield view.act("press", keys="Control+Home")
    yield from office.set_style(view, "Title")
    for text, level in HEADINGS:
        yield from office.find_text(view, text)
        yield view.act("press", keys=f"Control+{level}")
    yield from office.replace_all(view, "Fairleed", "Fairlead")
    yield from office.save(view)
