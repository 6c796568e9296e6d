"""Checks of the guest list, line by line, and of the room of the meeting."""

from __future__ import annotations

import json
from typing import Any

from agentgym import CheckResult, Evidence, catalogue
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import result

READER = catalogue.find("verifiers", "office") / "reader.py"
PATH = "/home/user/Documents/guests.xlsx"
MOST_BYTES = 2**20


def answers(evidence: Evidence) -> CheckResult:
    """Whoever was on the list and is invited still has the answer of the calendar.

    Channel: state.
    """
    seen, wanted = _lines(evidence), _gold(evidence)["staying"]
    wrong = [name for name in wanted if [line[2] for line in seen.get(name, ())] != [wanted[name]]]
    return result(not wrong, f"wrong or missing: {', '.join(wrong) or 'none'}")


def not_invited(evidence: Evidence) -> CheckResult:
    """The line of the person who is no longer invited says so.

    Channel: state.
    """
    name = _gold(evidence)["gone"]
    seen = [line[2] for line in _lines(evidence).get(name, ())]
    return result(seen == ["not invited"], f"{name}: {seen}")


def added(evidence: Evidence) -> CheckResult:
    """Each person who was invited since has one line, and no other person was added.

    Channel: state.
    """
    gold, seen = _gold(evidence), _lines(evidence)
    known = {*gold["staying"], gold["gone"]}
    found = sorted(line for name, lines in seen.items() if name not in known for line in lines)
    wanted = sorted([_plain(cell) for cell in line] for line in gold["new"])
    return result(found == wanted, f"{len(found)} new lines, expected {len(wanted)}: {found[:4]}")


def room(evidence: Evidence) -> CheckResult:
    """The meeting has the smallest room that fits.

    Channel: state.
    """
    gold = _gold(evidence)
    meeting = evidence.tables_after.rows("calendar_event", id=gold["meeting"])[0]
    same = meeting["room_id"] == gold["room"] and meeting["status"] == "confirmed"
    return result(same, f"the meeting has room {meeting['room_id']}, expected {gold['room']}")


def room_noted(evidence: Evidence) -> CheckResult:
    """The name of the room is in the sheet.

    Channel: state.
    """
    seen = _read(evidence, "B3")[0][0]
    return result(_plain(seen) == _plain(_gold(evidence)["name"]), f"B3 is {seen!r:.80}")


def _gold(evidence: Evidence) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(evidence.gold("guests.json"))
    found["staying"] = {_plain(name): answer for name, answer in found["staying"].items()}
    found["gone"] = _plain(found["gone"])
    return found


def _lines(evidence: Evidence) -> dict[str, list[list[str]]]:
    """Return the lines of the list by the names in them."""
    lines: dict[str, list[list[str]]] = {}
    for row in _read(evidence, "A6:C30"):
        cells = [_plain(cell) for cell in row]
        if any(cells):
            lines.setdefault(cells[0], []).append(cells)
    return lines


def _plain(cell: object) -> str:
    """Return the text of a cell without the capitals that Calc may have set."""
    return " ".join(str(cell).split()).casefold()


def _read(evidence: Evidence, at: str) -> list[list[Any]]:
    order = {"what": "values", "sheet": "Guests", "at": at}
    data = evidence.after.read(PATH, max_bytes=MOST_BYTES)
    found: list[list[Any]] = ask(READER, order, {"file": data}, what=PATH)
    return found
