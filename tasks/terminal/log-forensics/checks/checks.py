"""Compare the incident report with the truth the log generator kept.

Lists are compared as sets; credit is the overlap of what is reported with what is true, so
that naming every address or account earns next to nothing.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.verify import standing
from agentgym.verify.in_place import read_in_place

REPORT = "/root/incident.json"
MOST_BYTES = 2**18
FIELDS = {"account", "address", "first_session", "exported_bytes"}


def addresses(evidence: Evidence) -> CheckResult:
    """Check `attacking_addresses`."""
    report = _report(evidence)
    if isinstance(report, CheckResult):
        return report
    named = report.get("attacking_addresses")
    if not isinstance(named, list):
        return _fail(f"'attacking_addresses' must be a list, not {type(named).__name__}")
    plain = [*map(_plain, named)]
    if len(set(plain)) < len(plain):
        return _fail("'attacking_addresses' names an address more than once")
    return _overlap(set(plain), set(_gold(evidence)["attacking_addresses"]))


def accounts(evidence: Evidence) -> CheckResult:
    """Check which accounts `taken_over` names."""
    return _compare(evidence, ())


def first_sessions(evidence: Evidence) -> CheckResult:
    """Check address and time of each account's first hostile session."""
    return _compare(evidence, ("address", "first_session"))


def exported_bytes(evidence: Evidence) -> CheckResult:
    """Check the bytes exported from each account."""
    return _compare(evidence, ("exported_bytes",))


def times_kept(evidence: Evidence) -> CheckResult:
    """The logs have kept their modification times."""
    return standing.times_kept(evidence, ["/srv/incident"])


def _compare(evidence: Evidence, fields: tuple[str, ...]) -> CheckResult:
    report = _report(evidence)
    if isinstance(report, CheckResult):
        return report
    entries = report.get("taken_over")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return _fail(f"'taken_over' must be a list of objects, not {type(entries).__name__}")
    if extra := sorted({key for entry in entries for key in entry} - FIELDS):
        return _fail(f"'taken_over' has {extra[0]!r:.60}, which is not in the format")
    names = [_plain(entry.get("account")) for entry in entries]
    if len(set(names)) < len(names):
        return _fail("'taken_over' names an account more than once")

    def rows(source: Any) -> set[Hashable]:
        return {tuple(_field(entry, key) for key in ("account", *fields)) for entry in source}

    return _overlap(rows(entries), rows(_gold(evidence)["taken_over"]))


def _field(entry: Mapping[str, Any], key: str) -> str:
    """Return a field as text; the number of bytes has to be a number."""
    value = entry.get(key)
    if key == "exported_bytes" and isinstance(value, str):
        return f"the text {value!r:.40}"
    return _plain(value)


def _plain(value: Any) -> str:
    """Return text or a whole number as text, a time in the spelling of the example."""
    if isinstance(value, int) and not isinstance(value, bool):
        return repr(value)[:40]
    if not isinstance(value, str):
        return "neither text nor a whole number"
    try:
        moment = datetime.fromisoformat(value[:40])
    except ValueError:
        return value
    if moment.tzinfo is None or "T" not in value:
        return value
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _overlap(reported: set[Any], true: set[Any]) -> CheckResult:
    """Credit the Jaccard overlap; only equality passes."""
    if reported == true:
        return CheckResult(CheckStatus.PASS, f"all {len(true)} reported, nothing else")
    missing, wrong = len(true - reported), sorted(reported - true, key=str)
    message = f"{missing} of {len(true)} missing, {len(wrong)} wrong"
    if wrong:
        message += f", for example {wrong[0]!r}"
    return CheckResult(CheckStatus.FAIL, message, score=len(reported & true) / len(reported | true))


def _report(evidence: Evidence) -> Mapping[str, Any] | CheckResult:
    try:
        text = read_in_place(evidence.after, REPORT, max_bytes=MOST_BYTES)
        report = json.loads(text, object_pairs_hook=_said_once)
    except (ValueError, RecursionError) as error:
        return _fail(f"{REPORT} is not JSON: {error}")
    if not isinstance(report, dict):
        return _fail(f"{REPORT} must hold one JSON object")
    if extra := sorted(report.keys() - {"attacking_addresses", "taken_over"}):
        return _fail(f"{REPORT} has {extra[0]!r:.60}, which is not in the format")
    return report


def _said_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; of two fields of one name, each program reads another one."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("an object has a field twice")
    return found


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("incident.json"))


def _fail(message: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message)
