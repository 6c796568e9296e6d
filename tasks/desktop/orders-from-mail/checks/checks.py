"""Checks of the new lines of the sheet, customer by customer."""

from __future__ import annotations

import json
from typing import Any

from agentgym import CheckResult, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import Comparison, result

READER = catalogue.find("verifiers", "office") / "reader.py"
PATH = "/home/user/Documents/orders.xlsx"
MOST_BYTES = 2**20


def ordered(evidence: Evidence, place: int) -> CheckResult:
    """The new lines of a customer are its order, in any order of the lines.

    Args:
        evidence: Evidence of the episode.
        place: 0 and 1 for the customers who changed nothing, 2 for the one who did.
    """
    wanted = _orders(evidence)[place]
    seen = [row for row in _lines(evidence) if row[1] == wanted[0][1]]
    fault = Comparison(any_order=True).difference(seen, wanted)
    return result(not fault, f"{wanted[0][1]}: {fault or f'{len(seen)} lines as ordered'}")


def whole(evidence: Evidence) -> CheckResult:
    """The new lines are those of the three orders and no others, without a gap."""
    wanted, seen = sum(_orders(evidence), []), _lines(evidence)
    while seen and not any(cell != "" for cell in seen[-1]):
        seen.pop()
    fault = Comparison(any_order=True).difference(seen, wanted)
    return result(not fault, fault or f"{len(seen)} lines")


def _orders(evidence: Evidence) -> list[list[list[Any]]]:
    found: list[list[list[Any]]] = json.loads(evidence.gold("orders.json"))
    return found


def _lines(evidence: Evidence) -> list[list[Any]]:
    """Return the rows below those that were there at the start."""
    order = {"what": "values", "sheet": "Orders", "at": "A10:E30"}
    data = evidence.after.read(PATH, max_bytes=MOST_BYTES)
    found: list[list[Any]] = ask(READER, order, {"file": data}, what=PATH)
    return found
