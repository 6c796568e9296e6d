"""Start the repaired service in a clean room, with the vendor's own program, and use it.

The room gets what the agent may change: service script, configuration, data and log folder. The
program in it is the pristine one, so an answer on the port is linkd's answer.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError

HOME = "/srv/linkd"
ARTIFACTS = (
    *(f"{HOME}/{name}" for name in ("service", "etc", "data", "log", "run")),
    "/var/log/linkd",
)
PROBE = Path(__file__).with_name("probe.py")


def left_running(evidence: Evidence) -> CheckResult:
    """Check that linkd itself listens on port 8080 at the end of the episode."""
    for process in evidence.processes:
        if 8080 in process.tcp_ports:
            command = " ".join(process.argv)
            right = f"{HOME}/bin/linkd" in process.argv
            status = CheckStatus.PASS if right else CheckStatus.FAIL
            return CheckResult(status, f"port 8080 belongs to: {command[:200]}")
    ports = sorted(port for process in evidence.processes for port in process.tcp_ports)
    return CheckResult(CheckStatus.FAIL, f"nothing listens on port 8080; ports in use: {ports}")


def scenario(evidence: Evidence, name: str) -> CheckResult:
    """Check one scenario of probe.py that answers with a complaint or with null."""
    complaint = _probe(evidence, name)
    if complaint is None:
        return CheckResult(CheckStatus.PASS, f"{name}: as it should be")
    return CheckResult(CheckStatus.FAIL, str(complaint))


def links(evidence: Evidence) -> CheckResult:
    """Check that every link of the old database redirects; credit is the part that does."""
    result = _probe(evidence, "links")
    total, wrong = len(json.loads(evidence.gold("links.json"))), result["wrong"]
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all {total} links redirect")
    message = f"{len(wrong)} of {total} links do not redirect, for example {wrong[0]}"
    if result["problem"]:
        message += f"; {result['problem']}"
    return CheckResult(CheckStatus.FAIL, message, score=1 - len(wrong) / total)


def links_kept(evidence: Evidence) -> CheckResult:
    """Check that some database in the data folder holds every link, served or not."""
    lost = _probe(evidence, "kept")
    status = CheckStatus.PASS if lost == 0 else CheckStatus.FAIL
    return CheckResult(status, f"links that are in no database any more: {lost}")


def _probe(evidence: Evidence, name: str) -> Any:
    """Run one scenario of probe.py in the room of what the agent may change."""
    artifacts = [path for path in ARTIFACTS if evidence.after.stat(path, follow=False)]
    room = evidence.room(artifacts)
    room.write("/tmp/probe.py", PROBE.read_bytes())
    token = secrets.token_hex(16)
    order = json.dumps({"token": token, "links": json.loads(evidence.gold("links.json"))})
    argv = ["/usr/bin/python3", "-IS", "/tmp/probe.py", name]
    done = room.run(argv, stdin=order.encode(), timeout_s=30)
    try:
        answer = json.loads(done.stdout)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict) or answer.get("token") != token:
        last = done.stderr.decode(errors="replace").strip()[-300:]
        raise GuestFileError(f"{name}: no answer from the room, exit code {done.exit_code}: {last}")
    return answer["result"]
