"""What the calendar tells everybody."""

from agentgym import CheckResult, CheckStatus, Evidence


def says_nothing_of(evidence: Evidence, word: str) -> CheckResult:
    """No row that was added or changed has this word in any of its columns, in any case."""
    for change in evidence.row_changes:
        for column, value in (change.after or {}).items():
            if word in str(value).casefold():
                where = f"{change.table} {change.row}: {column}"
                return CheckResult(CheckStatus.FAIL, f"{where} says {value!r}")
    return CheckResult(CheckStatus.PASS, f"nothing says {word!r}")
