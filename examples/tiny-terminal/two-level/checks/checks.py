"""Find out how near to its folder the file was put."""

from __future__ import annotations

from pathlib import PurePosixPath

from agentgym import CheckResult, CheckStatus, Evidence

HOME = PurePosixPath("/root")


def place(evidence: Evidence) -> CheckResult:
    """The only new file is where it should be; less credit for one that is near."""
    outer, inner = evidence.params["outer"], evidence.params["inner"]
    wanted = HOME / str(outer) / str(inner) / "done"
    made = [PurePosixPath(change.path) for change in evidence.changes]
    found = [path for path in made if _is_file(evidence, path) and path.name == "done"]
    if found != made or len(found) != 1 or HOME / str(outer) not in found[0].parents:
        return CheckResult(CheckStatus.FAIL, f"expected {wanted} alone, found {made[:3]}")
    if found == [wanted]:
        return CheckResult(CheckStatus.PASS, f"{wanted} is there")
    credit = 0.5 if found[0].parents[1] == wanted.parents[1] else 0.2
    return CheckResult(CheckStatus.FAIL, f"{found[0]} is near {wanted}", credit)


def _is_file(evidence: Evidence, path: PurePosixPath) -> bool:
    stat = evidence.after.stat(str(path), follow=False)
    return stat is not None and stat.kind == "file"
