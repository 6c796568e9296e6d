"""Ask the repaired package what a billing system asks, in a clean room and from outside.

`cases.json` holds requests with their answers, which were worked out day by day and with fractions;
null stands for any error. What is about the package's memory is asked in a process of its own, and
of the rest what brings holidays comes last, so that no other group suffers from it. Between them
stand lines that are no requests: each gets an answer, too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify.python_tests import asserting_tests

HOME = "/srv/recur"
CASES = json.loads(Path(__file__).with_name("cases.json").read_text())
MEMORY = [case for case in CASES if case["group"] == "no-memory"]
REST = [case for case in CASES if case not in MEMORY]
REST.sort(key=lambda case: "holidays" in case["request"])
# Send a line, and the next one when the first is answered; what waits for more lines answers none.
ONE_BY_ONE = """
import select, subprocess, sys
argv = [sys.executable, "-B", "-m", "recur"]
billing = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
for _ in range(2):
    billing.stdin.write(sys.argv[1].encode() + b"\\n")
    if not select.select([billing.stdout], [], [], 60)[0] or not billing.stdout.readline().strip():
        billing.kill()
        sys.exit(1)
billing.stdin.close()
"""
NONSENSE = ('{"id": 1, "op": ', "[1, 2]")
MOST_FILES = 200


def answers(evidence: Evidence, group: str) -> CheckResult:
    """Every request of a group gets its answer."""
    cases = [case for case in CASES if case["group"] == group]
    # One room: all a package can alter in it are its own answers.
    said = _ask(evidence.room([HOME], shared=True))
    wrong = [case for case in cases if not _right(case, said.get(case["request"]["id"]))]
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"{len(cases)} requests are answered as they should")
    first = wrong[0]["request"]
    message = f"{len(wrong)} of {len(cases)} answers are wrong, e.g. to {json.dumps(first)}: "
    return CheckResult(CheckStatus.FAIL, message + f"{said.get(first['id'])!r:.200}")


def interface(evidence: Evidence) -> CheckResult:
    """Every line gets one answer, in the order of the lines, and the program ends well."""
    try:
        said = _ask(evidence.room([HOME], shared=True), strict=True)
    except ValueError as error:
        return CheckResult(CheckStatus.FAIL, str(error))
    argv = ["/usr/bin/python3", "-ISc", ONE_BY_ONE, json.dumps(REST[0]["request"])]
    room = evidence.room([HOME], shared=True)
    done = room.run(argv, cwd=HOME, env={"PYTHONSAFEPATH": ""}, timeout_s=180)
    if done.exit_code:
        return CheckResult(CheckStatus.FAIL, "a line is not answered before the next one comes")
    return CheckResult(CheckStatus.PASS, f"{len(said)} requests and some nonsense are answered")


def tests_kept(evidence: Evidence) -> CheckResult:
    """There are no fewer tests than there were, and they assert something."""
    tests: set[str] = set()
    for number, (path, stat) in enumerate(evidence.after.walk(f"{HOME}/tests")):
        if number == MOST_FILES:
            raise GuestFileError(f"{HOME}/tests: holds far more than it did")
        if stat.kind == "file" and path.endswith(".py"):
            source = evidence.after.read(path, max_bytes=2**18)
            tests |= {f"{path}:{name}" for name in asserting_tests(source)}
    status = CheckStatus.PASS if len(tests) >= 5 else CheckStatus.FAIL
    return CheckResult(status, f"{len(tests)} tests that assert something, there were 5")


def _ask(room: Any, *, strict: bool = False) -> dict[Any, Any]:
    """Return the answers by id; none if the package gives up.

    Raises:
        ValueError: `strict`, and the output is not an answer a line, in order, with exit code 0.
    """
    found = {}
    for batch in (MEMORY, REST):
        lines = [json.dumps(case["request"]) for case in batch]
        names = [case["request"]["id"] for case in batch]
        lines[5:5], names[5:5] = NONSENSE, [None] * len(NONSENSE)
        text = "".join(f"{line}\n" for line in lines).encode()
        argv = ["/usr/bin/python3", "-B", "-m", "recur"]
        # As the billing system starts it: the working directory is where `-m` looks.
        done = room.run(argv, cwd=HOME, stdin=text, env={"PYTHONSAFEPATH": ""}, timeout_s=120)
        answers = _read(done.stdout)
        if strict and done.exit_code != 0:
            raise ValueError(f"it ends with exit code {done.exit_code}")
        if strict and [answer.get("id", "") for answer in answers] != names:
            raise ValueError(f"{len(answers)} answers to {len(names)} lines, or in another order")
        for answer in answers:
            if isinstance(answer.get("id"), int):
                found.setdefault(answer["id"], answer)
    return found


def _read(output: bytes) -> list[dict[str, Any]]:
    """Return what was printed, a line each; what is no JSON object is an empty one."""
    found = []
    for line in output.decode("utf-8", "replace").splitlines():
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        found.append(answer if isinstance(answer, dict) else {})
    return found


def _right(case: Any, said: Any) -> bool:
    if said is None or case["answer"] is not None:
        return bool(said == {"id": case["request"]["id"], **(case["answer"] or {})})
    return isinstance(said.get("error"), str) and said.keys() == {"id", "error"}
