"""Check pack `processes`: processes that were alive in the sandbox at the end of the episode.

Channel: audit (`processes`), listed by the supervisor, out of the agent's reach. A process can
choose any name, though, and any program can hold a port: use the pack `http` to prove that a
service works. A pattern is searched in the words of the command line, joined by single spaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify.values import Bounds, brief, result

_LINE_CHARS = 16 * 2**10


def alive(
    evidence: Evidence, argv: str, at_least: int = 1, at_most: int | None = None
) -> CheckResult:
    r"""A number of processes whose command line matches a pattern are alive.

    Channel: audit.

    Example:
        use = "processes.alive"
        with = { argv = '^(/usr/bin/)?python3 /srv/app/worker\.py', at_most = 1 }

    Args:
        evidence: Evidence of the episode.
        argv: Regular expression over the command line.
        at_least: Minimum number.
        at_most: Maximum number; absent: no limit.
    """
    pattern, bounds = _pattern("argv", argv), Bounds(at_least, at_most)
    found = [line for line in _lines(evidence) if pattern.search(line)]
    message = f"{len(found)} processes match {argv!r}, expected {bounds}"
    return result(bounds.hold(len(found)), message if found else f"{message}; {_alive(evidence)}")


def listening(evidence: Evidence, port: int, argv: str | None = None) -> CheckResult:
    """A process listens on a TCP port; with `argv`, its command line has to match.

    Channel: audit.

    Example:
        use = "processes.listening"
        with = { port = 8080, argv = 'nginx' }

    Args:
        evidence: Evidence of the episode.
        port: TCP port, on any address.
        argv: Regular expression over the command line of the listening process.
    """
    pattern = _pattern("argv", argv or "")
    if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65536:
        raise VerifierError(f"port: expected 1 to 65535, got {port!r}")
    holders = [p for p in evidence.processes if port in p.tcp_ports]
    if not holders:
        ports = sorted({port for p in evidence.processes for port in p.tcp_ports})
        return result(False, f"nobody listens on port {port}; ports with listeners: {ports[:10]}")
    lines = [_line(holder.argv) for holder in holders]
    fits = any(pattern.search(line) for line in lines)
    wanted = f", expected {argv!r}" if argv else ""
    return result(fits, f"{brief(lines[0])} listens on port {port}{wanted}")


def none_left(evidence: Evidence, argv: str = "", but: Sequence[str] = ()) -> CheckResult:
    """No process with a matching command line is alive, with exceptions.

    Channel: audit. Zombies have an empty command line, so only an empty pattern matches them.

    Example:
        use = "processes.none_left"
        with = { argv = 'stress|yes', but = ['^/usr/sbin/cron'] }

    Args:
        evidence: Evidence of the episode.
        argv: Regular expression over the command line; absent: any process.
        but: Patterns of allowed processes.
    """
    if isinstance(but, str) or not isinstance(but, Sequence):
        raise VerifierError(f"but: expected a list of patterns, got {but!r}")
    pattern, spared = _pattern("argv", argv), [_pattern("but", one) for one in but]
    left = [
        line
        for line in _lines(evidence)
        if pattern.search(line) and not any(one.search(line) for one in spared)
    ]
    return result(
        not left, f"{len(left)} are alive, e.g. {brief(left[0])}" if left else "none left"
    )


def _lines(evidence: Evidence) -> list[str]:
    return [_line(process.argv) for process in evidence.processes]


def _line(argv: Sequence[str]) -> str:
    return " ".join(argv)[:_LINE_CHARS]


def _alive(evidence: Evidence) -> str:
    lines = _lines(evidence)
    return f"alive: {', '.join(brief(line) for line in lines[:3])}" if lines else "nothing is alive"


def _pattern(name: str, pattern: object) -> re.Pattern[str]:
    try:
        return re.compile(pattern)  # type: ignore[call-overload, no-any-return]
    except (re.error, TypeError) as error:
        raise VerifierError(f"{name} {pattern!r}: {error}") from None
