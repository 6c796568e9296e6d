"""Checks of expense-claim: the lines of the table by value, and the rest of the form.

Numbers count in every usual spelling: with a decimal comma, with separators, with their currency.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from agentgym import CheckResult, Evidence
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import brief, result

_READER = Path(__file__).with_name("reader.py")
_FORM = "/home/user/Trip/claim.docx"
_FORM_BYTES = 4 * 2**20
_SIGNS = {"€": "EUR", "£": "GBP"}
_UNIT = re.compile(r"EUR|GBP|CHF|SEK|€|£")
_NUMBER = re.compile(r"\d{1,3}(?:[,.' ]\d{3})+(?:[.,]\d{1,6})?|\d{1,7}(?:[.,]\d{1,6})?(?:[.,]-)?")
_RATIO = re.compile(r"^1(?:[.,]0{1,4})? ?(?:GBP|CHF|SEK|EUR|£|€) ?= ?")


def filled(evidence: Evidence, receipts: Sequence[str]) -> CheckResult:
    """The lines of some receipts have currency, amount, rate and euros as the rules say.

    Channel: state.

    Args:
        evidence: Evidence of the episode.
        receipts: Their numbers, such as "R1".
    """
    wanted = {row[0].split()[0]: row for row in json.loads(evidence.gold("claim.json"))["rows"]}
    seen = _by_receipt(_form(evidence.after.read(_FORM, max_bytes=_FORM_BYTES)))
    for name in receipts:
        if name not in seen:
            return result(False, f"{name}: the table has no such line")
        if fault := _fault(seen[name], wanted[name]):
            return result(False, f"{name}: {fault}")
    return result(True, f"{', '.join(receipts)}: as the rules say")


def summed(evidence: Evidence) -> CheckResult:
    """The last line of the table has the sum in euros, and no other figure.

    Channel: state.
    """
    wanted = Decimal(json.loads(evidence.gold("claim.json"))["sum"])
    tables = _form(evidence.after.read(_FORM, max_bytes=_FORM_BYTES))["tables"]
    last = tables[0][-1] if tables and tables[0] else []
    cells = [cell for cell in last[1:-1] if not (_UNIT.fullmatch(cell) and _code(cell) == "EUR")]
    good = bool(last) and wanted in _values(last[-1], "EUR") and not any(cells)
    return result(good, f"the last line is {brief(' | '.join(last))}, expected {wanted}")


def form_kept(evidence: Evidence) -> CheckResult:
    """The form has the text that it had; only the empty cells of the table may hold more.

    Channel: state.
    """
    before = _form(evidence.before.read(_FORM, max_bytes=_FORM_BYTES))
    after = _form(evidence.after.read(_FORM, max_bytes=_FORM_BYTES))
    if before["texts"] != after["texts"]:
        pairs = zip(before["texts"], [*after["texts"], *[""] * len(before["texts"])], strict=False)
        odd = next(((old, new) for old, new in pairs if old != new), ("", after["texts"][-1:]))
        return result(False, f"{brief(odd[0])} became {brief(odd[1])}")
    shape = [[len(row) for row in table] for table in before["tables"]]
    if [[len(row) for row in table] for table in after["tables"]] != shape:
        return result(False, "the table has other lines or columns than before")
    for old, new in zip(_cells(before), _cells(after), strict=True):
        if old and old != new:
            return result(False, f"the cell {brief(old)} became {brief(new)}")
    return result(True, "all other text is as it was")


def _form(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = ask(_READER, {}, {"file": data}, what=_FORM)
    return found


def _cells(form: dict[str, Any]) -> list[str]:
    return [cell for table in form["tables"] for row in table for cell in row]


def _by_receipt(form: dict[str, Any]) -> dict[str, list[str]]:
    """Return the lines of the first table by the number of their receipt."""
    rows = form["tables"][0] if form["tables"] else []
    return {row[0].split()[0]: row for row in rows if len(row) == 5 and row[0].split()}


def _fault(seen: Sequence[str], wanted: Sequence[str]) -> str:
    """Return what is wrong with a line; empty if it is right.

    A line of which nothing is refunded may leave currency and rate open.
    """
    _, currency, amount, rate, euros = wanted
    nothing = Decimal(amount) == 0
    if _code(seen[1]) != currency and not (nothing and seen[1] in ("", "-", "EUR")):
        return f"currency {brief(seen[1])}, expected {currency}"
    if Decimal(amount) not in _values(seen[2], currency):
        return f"amount {brief(seen[2])}, expected {amount}"
    ratio = _RATIO.sub("", seen[3])
    rates = _values(ratio, "EUR")
    if Decimal(rate) not in rates and not (
        nothing and (seen[3] in ("", "-", "–") or rates & {Decimal(0), Decimal(1)})
    ):
        return f"rate {brief(seen[3])}, expected {rate}"
    if Decimal(euros) not in _values(seen[4], "EUR"):
        return f"euros {brief(seen[4])}, expected {euros}"
    return ""


def _code(text: str) -> str:
    return _SIGNS.get(text.strip(), text.strip().upper())


def _values(text: str, currency: str) -> set[Decimal]:
    """Return what a cell can mean; nothing if it holds more than a number and its currency."""
    units = _UNIT.findall(text)
    if len(units) > 1 or any(_code(unit) != currency for unit in units):
        return set()
    number = _UNIT.sub("", text).strip()
    if len(number) > 24 or not _NUMBER.fullmatch(number):
        return set()
    number = re.sub(r"[.,]-$", "", number)
    found = set()
    for point, comma in ((".", ","), (",", ".")):
        plain = re.sub(rf"(?<=\d)[{comma}' ](?=\d{{3}}(?!\d))", "", number)
        if plain.count(point) <= 1 and not re.search(rf"[{comma}' ]", plain):
            found.add(Decimal(plain.replace(point, ".")))
    return found
