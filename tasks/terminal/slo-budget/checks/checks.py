"""Compare both reports with the requests as they were planned."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify.csv_lines import plain_lines

HEADERS = {"budget": "service,valid,bad,sli,budget_used", "alerts": "service,first,last"}
# Half of the last decimal, and a little for those who compute in binary.
TOLERANCE = {3: 0.000501, 4: 0.050001}
FORMS = (r"\d{1,9}", r"\d{1,9}", r"\d{1,3}\.\d{3}", r"\d{1,6}\.\d")


def counts(evidence: Evidence, column: int) -> CheckResult:
    """A column of whole numbers is right; credit for the share of services for which it is."""
    rows = _budgets(evidence)
    wanted = {row[0]: str(row[column]) for row in _gold(evidence)["budgets"]}
    right = [name for name, value in wanted.items() if rows.get(name, [""] * 5)[column] == value]
    return _share(right, wanted, rows)


def shares(evidence: Evidence, column: int) -> CheckResult:
    """A column of percentages is right, but for rounding."""
    rows, right = _budgets(evidence), []
    wanted = {row[0]: row[column] for row in _gold(evidence)["budgets"]}
    for name, value in wanted.items():
        try:
            seen = float(rows.get(name, [""] * 5)[column][:30])
        except ValueError:
            continue
        right += [name] * math.isclose(seen, value, rel_tol=0, abs_tol=TOLERANCE[column])
    return _share(right, wanted, rows)


def layout(evidence: Evidence) -> CheckResult:
    """The budgets are sorted by service, with as many decimals as were asked for."""
    rows = [line.split(",") for line in _report(evidence, "budget")]
    names = [row[0] for row in rows]
    if names != sorted(names) or not names:
        return CheckResult(CheckStatus.FAIL, f"the services are not sorted: {names[:4]}")
    for row in rows:
        odd = [
            text for text, form in zip(row[1:], FORMS, strict=False) if not re.fullmatch(form, text)
        ]
        if odd or len(row) != 5:
            return CheckResult(CheckStatus.FAIL, f"{row[0]}: {odd[:2]} are not written as asked")
    return CheckResult(CheckStatus.PASS, f"{len(rows)} lines, sorted, with their decimals")


def alerts(evidence: Evidence) -> CheckResult:
    """The alerts are these, to the minute; partial credit is the Jaccard index of the lines."""
    wanted, seen = _gold(evidence)["alerts"], _report(evidence, "alerts")
    if wanted == seen:
        return CheckResult(CheckStatus.PASS, f"all {len(wanted)} alerts")
    need, have = set(wanted), set(seen)
    share = len(need & have) / (len(need | have) + len(seen) - len(have))
    message = f"{len(need - have)} alerts missing, {len(have - need)} wrong"
    return CheckResult(CheckStatus.FAIL, message, min(share, 0.9))


def _share(right: list[str], wanted: dict[str, Any], rows: dict[str, list[str]]) -> CheckResult:
    extra = rows.keys() - wanted.keys()
    whole = len(right) == len(wanted) and not extra
    message = f"right for {right}" + (f", and there are {sorted(extra)[:3]}" if extra else "")
    share = len(right) / (len(wanted) + len(extra))
    return CheckResult(CheckStatus.PASS if whole else CheckStatus.FAIL, message, share)


def _budgets(evidence: Evidence) -> dict[str, list[str]]:
    rows = [line.split(",") for line in _report(evidence, "budget")]
    if any(len(row) != 5 for row in rows) or len({row[0] for row in rows}) < len(rows):
        raise GuestFileError("budget.csv: expected five fields a line, and each service once")
    return {row[0]: row for row in rows}


def _report(evidence: Evidence, name: str) -> list[str]:
    path = f"/srv/slo/{name}.csv"
    stat = evidence.after.stat(path, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{path}: is {stat.kind if stat else 'not there'}, expected a file")
    text = evidence.after.read(path, max_bytes=2**18).decode("utf-8", "replace")
    lines = [line.rstrip() for line in plain_lines(text) if line.strip()]
    if lines[:1] != [HEADERS[name]]:
        raise GuestFileError(f"{path}: begins with {lines[:1]}, expected {HEADERS[name]!r}")
    return lines[1:]


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("report.json"))
