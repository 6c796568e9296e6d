"""Start the repaired service in a clean room, with the vendor's own program, and use it.

The room gets what the agent may change: service script, configuration, data and log folder. The
program in it is the pristine one, so an answer on the port is linkd's answer. `probe.py` says what
it saw there; what it should have seen stays here. Rows are compared with all their columns: who
made a link and how often it was used is lost as easily as where it leads.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.verify.probing import probe

HOME = "/srv/linkd"
ARTIFACTS = (
    *(f"{HOME}/{name}" for name in ("service", "etc", "data", "log", "run")),
    "/var/log/linkd",
)
PROBE = Path(__file__).with_name("probe.py")
# Whoever tries the links counts as a visitor.
MOST_VISITS = 500
# 127.0.0.1, as /proc/net/tcp writes it.
LOOPBACK = "0100007F"


def left_running(evidence: Evidence) -> CheckResult:
    """Check that linkd itself listens on port 8080, with the configuration of the service."""
    for process in evidence.processes:
        if 8080 in process.tcp_ports:
            told = f"port 8080 belongs to: {' '.join(process.argv)[:200]}"
            if not _is_linkd(process.argv):
                return CheckResult(CheckStatus.FAIL, told)
            seen = _probe(evidence, "served")
            started = seen["argv"]
            if any(address != LOOPBACK for address in seen["listening"]):
                return CheckResult(CheckStatus.FAIL, f"{told}, and listens to other machines too")
            if _configuration(process.argv) != _configuration(started):
                started = " ".join(started)[:200]
                return CheckResult(CheckStatus.FAIL, f"{told}; the service starts: {started}")
            return CheckResult(CheckStatus.PASS, told)
    ports = sorted(port for process in evidence.processes for port in process.tcp_ports)
    return CheckResult(CheckStatus.FAIL, f"nothing listens on port 8080; ports in use: {ports}")


def _is_linkd(argv: Sequence[str]) -> bool:
    """Say whether this is how the kernel starts linkd: interpreter, program, its one option."""
    if len(argv) < 3:
        return False
    interpreter, program, option = argv[:3]
    python = PurePosixPath(interpreter).name == "python3"
    return python and program == f"{HOME}/bin/linkd" and option.startswith("--config")


def _configuration(argv: Sequence[str]) -> str:
    """Return the file that linkd was told to read."""
    name, _, value = " ".join(argv[2:3]).partition("=")
    return posixpath.normpath(value or " ".join(argv[3:4])) if name == "--config" else ""


def starts(evidence: Evidence) -> CheckResult:
    """Check that the service script brings it up from rest."""
    return _complain(_start_problem(_probe(evidence, "links")["start"]))


def creates(evidence: Evidence) -> CheckResult:
    """Check that a new link works, also after a restart."""
    seen = _probe(evidence, "create")
    problem = _start_problem(seen["start"])
    created, again, found = seen["created"], seen["restart"], seen["found"]
    if not problem and (
        created[0] != 201 or again[0] != 0 or found != [302, "https://probe.example/x"]
    ):
        problem = f"creating answers {created}, restart {again}, the link answers {found}"
    if not problem and seen["refused"] != [400, 400]:
        problem = f"slug_pattern and max_body_kb are not in force: {seen['refused']}"
    return _complain(problem)


def stops(evidence: Evidence) -> CheckResult:
    """Check that status, stop and a second start do what they say."""
    seen = _probe(evidence, "cycle")
    problem, running = _start_problem(seen["start"]), seen["running"]
    stopped, again = seen["stopped"], seen["again"]
    if not problem and running != 0:
        problem = f"status exits with {running} while linkd runs"
    elif not problem and seen["twice"] != [0, 200]:
        problem = f"after a second start, status and /health give {seen['twice']}, not [0, 200]"
    elif not problem and stopped != [0, 3, 0]:
        problem = f"stop, status and /health then give {stopped} instead of [0, 3, 0]"
    elif not problem and (seen["refused"][0] == 0 or "usage" not in seen["refused"][1].lower()):
        problem = f"an unknown word gives {seen['refused']} instead of the usage and an error"
    elif not problem and again != [0, 200, 0]:
        problem = f"start, /health and status then give {again} instead of [0, 200, 0]"
    return _complain(problem)


def links(evidence: Evidence) -> CheckResult:
    """Check that every link of the old database redirects; credit is the part that does."""
    expected, seen = _expected(evidence), _probe(evidence, "links")
    answers = seen["answers"]
    wrong = [slug for slug, (url, *_) in expected.items() if answers[slug] != [302, url]]
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all {len(expected)} links redirect")
    message = f"{len(wrong)} of {len(expected)} links do not redirect, for example {wrong[0]}"
    message += f"; {_start_problem(seen['start'])}".rstrip("; ")
    return CheckResult(CheckStatus.FAIL, message, score=1 - len(wrong) / len(expected))


def state_in_place(evidence: Evidence) -> CheckResult:
    """Check that a start writes nothing outside of /srv/linkd and its log folder."""
    written = _probe(evidence, "served")["written"]
    return _complain(f"a start writes {written[0]}" if written else "")


def rows(evidence: Evidence) -> CheckResult:
    """Check that the database which linkd serves has every row as it was, all columns of it."""
    seen = _probe(evidence, "served")
    found = {row[0]: row[1:5] for row in seen["rows"]}
    off = [row[0] for row in seen["rows"] if row[5] != "1"]
    problem = _start_problem(seen) or _rows_problem(_expected(evidence), found)
    if not problem and (switched := sorted({repr(slug) for slug in _expected(evidence)} & {*off})):
        problem = f"{len(switched)} links are switched off, for example {switched[0]}"
    return _complain(problem)


def links_kept(evidence: Evidence) -> CheckResult:
    """Check that a database in the data folder holds every row, and none holds altered ones."""
    expected = _expected(evidence)
    held = [{row[0]: row[1:] for row in rows} for rows in _probe(evidence, "kept")]
    for found in held:
        known = {slug: row for slug, row in expected.items() if repr(slug) in found}
        if problem := _rows_problem(known, found):
            return _complain(f"in a database of the data folder {problem}")
    if not any(all(repr(slug) in found for slug in expected) for found in held):
        return _complain("no database in the data folder holds all the links any more")
    return CheckResult(CheckStatus.PASS, "every row is there, as it was")


def _rows_problem(expected: dict[str, list[Any]], found: dict[str, list[str]]) -> str:
    """Return what is wrong with the rows: address, owner, day and visits by slug."""
    wrong = []
    for slug, (url, owner, created, hits) in expected.items():
        *same, visits = found.get(repr(slug), [""] * 4)
        counted = visits.isdecimal() and hits <= int(visits[:15]) <= hits + MOST_VISITS
        if same != [repr(url), repr(owner), repr(created)] or not counted:
            wrong.append(slug)
    return f"{len(wrong)} rows are lost or altered, for example {wrong[0]}" if wrong else ""


def _start_problem(seen: Any) -> str:
    """Return what is wrong with a start; empty if nothing is."""
    if seen["code"] == 0 and seen["health"] == 200:
        return ""
    started = f"start exits with {seen['code']} ({seen['said']})"
    return f"{started}; /health answers {seen['health']} ({seen['why']})"


def _complain(problem: str) -> CheckResult:
    status = CheckStatus.FAIL if problem else CheckStatus.PASS
    return CheckResult(status, problem or "as it should be")


def _expected(evidence: Evidence) -> dict[str, list[Any]]:
    """Return address, owner, day and visits by short name, as the old database had them."""
    links: dict[str, list[Any]] = json.loads(evidence.gold("links.json"))
    return links


def _probe(evidence: Evidence, name: str) -> Any:
    """Run one scenario of probe.py in the room of what the agent may change."""
    artifacts = [path for path in ARTIFACTS if evidence.after.stat(path, follow=False)]
    room = evidence.room(artifacts, shared=True)
    order = {"scenario": name, "slugs": [*_expected(evidence)]}
    return probe(room, PROBE, order, what=f"{HOME}/service ({name})")
