"""Compare the list that was saved apart with what stood in the place of the plan."""

from __future__ import annotations

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError

LIST = "/home/user/Orchard/shopping.txt"
PLAN = "/home/user/Orchard/plan.txt"
MOST_BYTES = 2**16


def list_kept(evidence: Evidence) -> CheckResult:
    """The list has the lines that the file of the plan had at the start."""
    stat = evidence.after.stat(LIST, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{LIST}: is {stat.kind if stat else 'not there'}, expected a file")
    seen = evidence.after.read(LIST, max_bytes=MOST_BYTES).rstrip(b"\n")
    same = seen == evidence.before.read(PLAN).rstrip(b"\n")
    status = CheckStatus.PASS if same else CheckStatus.FAIL
    return CheckResult(status, f"{LIST}: holds {seen!r:.100}")
