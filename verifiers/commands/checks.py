"""Check pack `commands`: the behaviour of a command in a clean room.

A clean room is the task's snapshot before the agent started, plus the declared `artifacts`: files
and folders of the agent's, absolute paths. There is no network, the environment is fixed, and a
command name without a folder is looked up in /usr/bin:/bin:/usr/sbin:/sbin. Every check has its own
room, so the agent's program cannot mislead another check.

A command that runs out of time, or prints more than the sandbox keeps, fails the check. A number in
place of a text, such as a slot with a drawn number, stands for its digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify.values import brief, result


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
        evidence: Evidence of the episode.
        argv: The command, word by word; there is no shell.
        artifacts: Files and folders of the agent that are copied into the room.
        code: Expected exit code; 128 + N for a command ended by signal N.
        cwd: Working directory.
        stdin: Standard input.
        timeout_s: Time limit in seconds.
    """
    _, fault = _run(evidence, argv, artifacts, code, cwd, stdin, timeout_s)
    return result(not fault, fault or f"{argv[0]} ended with exit code {code}")


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
        evidence: Evidence of the episode.
        argv: The command, word by word; there is no shell.
        text: Expected standard output.
        artifacts: Files and folders of the agent that are copied into the room.
        strip: Ignore white space at both ends.
        code: Expected exit code.
        cwd: Working directory.
        stdin: Standard input.
        timeout_s: Time limit in seconds.
    """
    seen, fault = _run(evidence, argv, artifacts, code, cwd, stdin, timeout_s)
    wanted = _text(text)
    if strip:
        seen, wanted = seen.strip(), wanted.strip()
    if not fault and seen != wanted:
        fault = f"{argv[0]}: expected {brief(wanted)}, printed {brief(seen)}"
    return result(not fault, fault or f"{argv[0]} printed {brief(seen)}")


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
    """A command's output contains this text, and it ends with the exit code.

    Example:
        use = "commands.stdout_contains"
        with = { argv = ["git", "-C", "/srv/r", "tag"], artifacts = ["/srv/r"], text = "v2.0" }

    Arguments are those of `stdout_equals`.
    """
    seen, fault = _run(evidence, argv, artifacts, code, cwd, stdin, timeout_s)
    if not fault and _text(text) not in seen:
        fault = f"{argv[0]}: did not print {brief(_text(text))}; it printed {brief(seen)}"
    return result(not fault, fault or f"{argv[0]} printed {brief(_text(text))}")


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
    r"""A regular expression matches part of a command's output; ^ and $ match at line ends.

    Example:
        use = "commands.stdout_matches"
        with = { argv = ["crontab", "-l"], pattern = '^30 4 \* \* 1 ' }

    Arguments are those of `stdout_equals`, with a pattern instead of the text.
    """
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise VerifierError(f"pattern {pattern!r}: {error}") from None
    seen, fault = _run(evidence, argv, artifacts, code, cwd, stdin, timeout_s)
    if not fault and not compiled.search(seen):
        fault = f"{argv[0]}: printed nothing that matches {pattern!r}; it printed {brief(seen)}"
    return result(not fault, fault or f"{argv[0]} printed what matches {pattern!r}")


def _run(
    evidence: Evidence,
    argv: Sequence[str | float],
    artifacts: Sequence[str],
    code: int,
    cwd: str,
    stdin: str | float,
    timeout_s: float,
) -> tuple[str, str]:
    """Return the output, and the reason why the command already fails the check or ''."""
    if isinstance(argv, str) or not argv:
        raise VerifierError(f"argv: expected a list of words, got {argv!r}")
    words = [_text(word) for word in argv]
    room = evidence.room(artifacts)
    done = room.run(words, cwd=cwd, stdin=_text(stdin).encode(), timeout_s=timeout_s)
    seen = done.stdout.decode("utf-8", "surrogateescape")
    if done.timed_out:
        return seen, f"{argv[0]}: did not end in time (at most {timeout_s:g} s)"
    if done.exit_code != code:
        said = done.stderr.decode("utf-8", "backslashreplace").strip() or seen.strip()
        return seen, f"{argv[0]}: exit code {done.exit_code}, expected {code}: {brief(said)}"
    if done.omitted_bytes:
        return seen, f"{argv[0]}: printed too much ({done.omitted_bytes} bytes were dropped)"
    return seen, ""


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)
