"""Copies the text of the lease from the viewer, and answers with its terms as amended."""

import re

from agentgym.task.reference_policy import shared_policies

moves = shared_policies("desktop", "moves")


def solve(view):
    yield from moves.window_comes(view, "Lease W-")
    yield view.act("press", keys="Control+A")
    yield view.act("press", keys="Control+C")
    yield view.act("read_clipboard")
    text = " ".join(view.observation.text.split())
    rent = re.search(r"The rent is EUR ([\d,]+) a month", text)[1]
    deposit, bank = re.search(r"a deposit of EUR ([\d,]+), .*? keeps with ([\w ]+),", text).groups()
    notice = re.search(r"In clause 7\.1 the words .*? are replaced by “(\d+) months”", text)[1]
    yield view.act(
        "submit",
        rent=f"EUR {rent.replace(',', '')}",
        deposit=f"EUR {deposit.replace(',', '')}",
        bank=bank,
        notice_months=int(notice),
    )
