"""Opens the quote, reads what it says about the item, and gives up."""

import re

from agentgym.task.reference_policy import shared_policies

office = shared_policies("desktop", "office")


def solve(view):
    item = re.search(r"takes for “(.+?)”", office.told(view))[1]
    yield from office.switch_to(view, "Thunar$")
    # The files are sorted by name, and the tree has the other columns of their lines.
    yield from office.element_comes(view, "cell", "PDF document")
    last = view.find_all("cell", "PDF document")[-1]
    yield view.act("click", ref=last["ref"], count=2)
    yield from office.window_comes(view, r"holloway\.pdf|Quote")
    text = yield from office.copy_all(view, re.escape(item))
    if "on request" not in text:
        raise LookupError("the quote has every price")
    told = f"Holloway quotes no price for “{item}”: it is “on request”."
    subject = f"Holloway's price of “{item}”"
    yield view.act("give_up", category="missing_data", subject=subject, reason=told)
