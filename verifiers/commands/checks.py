"""Check pack `commands`: what a command does in a clean room.

A clean room is the task's snapshot as it was before the agent came, plus the declared
`artifacts`: files and folders of the agent's, absolute paths. There is no network, the
environment is fixed and a bare command name is looked up in /usr/bin:/bin:/usr/sbin:/sbin.
Every check has a room of its own, so what the agent's program does to it misleads no other.

A command that runs out of time, or prints more than the sandbox keeps, fails the check. A number
given where text is expected, such as a slot that was drawn from a range, stands for its digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from agentgym import CheckResult, CheckStatus, Evidence, VerifierError


def exit_code(
    evidence: Evidence,
    argv: Sequence[str | float],
    artifacts: Sequence[str] = (),
    code: int = 0,
    cwd: str = "/root",
    stdin: str | float = "",
    timeout_s: float = 30.0,
) -> CheckResult:
    """A command ends with this exit code.

    Example:
        use = "commands.exit_code"
        with = { argv = ["make", "-C", "/srv/app", "test"], artifacts = ["/srv/app"] }

    Args:
        evidence: Of the episode.
        argv: The command, word by word; there is no shell.
        artifacts: What of the agent's work is in the room.
        code: The exit code expected; 128 + N for a command ended by signal N.
        cwd: Where it runs.
        stdin: What it reads.
        timeout_s: When it is ended.
    """
    _, fault = _run(evidence, argv, artifacts, code, cwd, stdin, timeout_s)
    return _result(not fault, fault or f"{argv[0]} ended with exit code {code}")


def stdout_equals(
    evidence: Evidence,
    argv: Sequence[str | float],
    text: str | float,
    artifacts: Sequence[str] = (),
    strip: bool = True,
    code: int = 0,
    cwd: str = "/root",
    stdin: str | float = "",
    timeout_s: float = 30.0,
) -> CheckResult:
    """A command prints exactly this text and ends with the exit code.

    Example:
        use = "commands.stdout_equals"
        with = { argv = ["/srv/app/version"], artifacts = ["/srv/app"], text = "{{version}}" }

    Args:
        evidence: Of the episode.
        argv: The command, word by word; there is no shell.
        text: What it should print on standard output.
        artifacts: What of the agent's work is in the room.
        strip: Leave white space at both ends out of the comparison.
        code: The exit code expected.
        cwd: Where it runs.
        stdin: What it reads.
        timeout_s: When it is ended.
    """
    seen, fault = _run(evidence, argv, artifacts, code, cwd, stdin, timeout_s)
    wanted = _text(text)
    if strip:
        seen, wanted = seen.strip(), wanted.strip()
    if not fault and seen != wanted:
        fault = f"{argv[0]}: expected {_brief(wanted)}, printed {_brief(seen)}"
    return _result(not fault, fault or f"{argv[0]} printed {_brief(seen)}")


def stdout_contains(
    evidence: Evidence,
    argv: Sequence[str | float],
    text: str | float,
    artifacts: Sequence[str] = (),
    code: int = 0,
    cwd: str = "/root",
    stdin: str | float = "",
    timeout_s: float = 30.0,
) -> CheckResult:
    """A command prints this text somewhere and ends with the exit code.

    Example:
        use = "commands.stdout_contains"
        with = { argv = ["git", "-C", "/srv/r", "tag"], artifacts = ["/srv/r"], text = "v2.0" }

    Arguments are those of `stdout_equals`.
    """
    seen, fault = _run(evidence, argv, artifacts, code, cwd, stdin, timeout_s)
    if not fault and _text(text) not in seen:
        fault = f"{argv[0]}: did not print {_brief(_text(text))}; it printed {_brief(seen)}"
    return _result(not fault, fault or f"{argv[0]} printed {_brief(_text(text))}")


def stdout_matches(
    evidence: Evidence,
    argv: Sequence[str | float],
    pattern: str,
    artifacts: Sequence[str] = (),
    code: int = 0,
    cwd: str = "/root",
    stdin: str | float = "",
    timeout_s: float = 30.0,
) -> CheckResult:
    r"""A regular expression is found in what a command prints; ^ and $ match at line ends.

    Example:
        use = "commands.stdout_matches"
        with = { argv = ["crontab", "-l"], pattern = '^30 4 \* \* 1 ' }

    Arguments are those of `stdout_equals`, with a pattern for the text.
    """
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise VerifierError(f"pattern {pattern!r}: {error}") from None
    seen, fault = _run(evidence, argv, artifacts, code, cwd, stdin, timeout_s)
    if not fault and not compiled.search(seen):
        fault = f"{argv[0]}: printed nothing that matches {pattern!r}; it printed {_brief(seen)}"
    return _result(not fault, fault or f"{argv[0]} printed what matches {pattern!r}")


def _run(
    evidence: Evidence,
    argv: Sequence[str | float],
    artifacts: Sequence[str],
    code: int,
    cwd: str,
    stdin: str | float,
    timeout_s: float,
) -> tuple[str, str]:
    """Return what was printed, and why the command already fails the check or ''."""
    if isinstance(argv, str) or not argv:
        raise VerifierError(f"argv: expected a list of words, got {argv!r}")
    words = [_text(word) for word in argv]
    room = evidence.room(artifacts)
    result = room.run(words, cwd=cwd, stdin=_text(stdin).encode(), timeout_s=timeout_s)
    seen = result.stdout.decode("utf-8", "surrogateescape")
    if result.timed_out:
        return seen, f"{argv[0]}: did not end in time (at most {timeout_s:g} s)"
    if result.exit_code != code:
        said = result.stderr.decode("utf-8", "backslashreplace").strip() or seen.strip()
        return seen, f"{argv[0]}: exit code {result.exit_code}, expected {code}: {_brief(said)}"
    if result.omitted_bytes:
        return seen, f"{argv[0]}: printed too much ({result.omitted_bytes} bytes were dropped)"
    return seen, ""


def _result(passed: bool, message: str) -> CheckResult:
    return CheckResult(CheckStatus.PASS if passed else CheckStatus.FAIL, message)


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _brief(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:119] + "…")
