"""Goes through the recovery dialog, adds the amounts up, and writes their sum into the letter."""

import re

from agentgym.task.reference_policy import shared_policies

writer = shared_policies("desktop", "writer")

DIALOG = "Document Recovery"
AMOUNT = re.compile(r": ([\d,]+\.\d\d) EUR")


def solve(view):
    yield from writer.window_comes(view, DIALOG)
    yield from writer.element_comes(view, "button", "Start")
    yield view.click("button", "Start")
    yield from writer.element_comes(view, "button", "Finish")
    yield view.click("button", "Finish")
    yield from writer.window_comes(view, r"^claim\.docx")
    text = yield from writer.copy_all(view, "Total:")
    total = sum(writer.amount(one) for one in AMOUNT.findall(text))
    yield from writer.find_text(view, "Total:")
    yield view.act("type", text=f"Total: {total:,.2f} EUR")
    yield from writer.save(view)
