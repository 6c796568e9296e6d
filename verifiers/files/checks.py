"""Check pack `files`: the final files, read from outside the sandbox.

Paths are absolute in the guest. A file that is missing, of the wrong kind, not UTF-8 where text is
expected, or larger than a check reads, is a fail and never an error, because the agent wrote it.
Text over 1 MiB is not read. A pattern is searched in at most 64 KiB, because the time of a regular
expression can grow with the square of the text; the author has to avoid exponential patterns. A
number in place of a text, such as a slot with a drawn number, stands for its digits.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from agentgym import CheckResult, Evidence, GuestFileError, VerifierError
from agentgym.records import ChangeKind
from agentgym.verify import path_matches
from agentgym.verify.kept_lines import lost_lines
from agentgym.verify.persistence import persistent
from agentgym.verify.values import brief, result

_TEXT_BYTES = 2**20
# Files below these are scratch files, whatever their mode is.
_SCRATCH = ("/tmp/", "/var/tmp/", "/root/", "/run/", "/dev/")
_PATTERN_BYTES = 64 * 2**10
_FILE_BYTES = 64 * 2**20
_KINDS = ("file", "dir", "link")


def exists(evidence: Evidence, path: str, kind: str | None = None) -> CheckResult:
    """A path exists; links are followed unless the kind is "link".

    Example:
        use = "files.exists"
        with = { path = "/srv/backup", kind = "dir" }

    Args:
        evidence: Evidence of the episode.
        path: The path.
        kind: "file", "dir" or "link"; absent: any kind.
    """
    if kind is not None and kind not in _KINDS:
        raise VerifierError(f"kind: expected one of {', '.join(_KINDS)}, got {kind!r}")
    stat = evidence.after.stat(path, follow=kind != "link")
    if stat is None:
        return result(False, f"{path}: is not there")
    wanted = f", expected a {kind}" if kind else ""
    return result(kind in (None, stat.kind), f"{path}: is a {stat.kind}{wanted}")


def absent(evidence: Evidence, path: str) -> CheckResult:
    """A path does not exist, not even as a link that leads nowhere.

    Example:
        use = "files.absent"
        with = { path = "/srv/app/app.lock" }
    """
    stat = evidence.after.stat(path, follow=False)
    if stat is None:
        return result(True, f"{path}: is not there")
    return result(False, f"{path}: is a {stat.kind}, expected nothing")


def text_equals(
    evidence: Evidence, path: str, text: str | float, strip: bool = True
) -> CheckResult:
    """A file holds exactly this text.

    Example:
        use = "files.text_equals"
        with = { path = "/srv/report.txt", text = "{{ip}}" }

    Args:
        evidence: Evidence of the episode.
        path: The file.
        text: The expected text.
        strip: Ignore white space at both ends.
    """
    seen, wanted = _read_text(evidence, path), _text(text)
    if strip:
        seen, wanted = seen.strip(), wanted.strip()
    if seen == wanted:
        return result(True, f"{path}: holds {brief(wanted)}")
    fault = _difference(seen.split("\n"), wanted.split("\n"))
    return result(False, f"{path}: {fault}")


def contains(evidence: Evidence, path: str, text: str | float) -> CheckResult:
    """A file contains this text.

    Example:
        use = "files.contains"
        with = { path = "/etc/app.conf", text = "listen = 8080" }
    """
    seen, wanted = _read_text(evidence, path), _text(text)
    if wanted in seen:
        return result(True, f"{path}: contains {brief(wanted)}")
    return result(False, f"{path}: does not contain {brief(wanted)}; it holds {brief(seen)}")


def matches(evidence: Evidence, path: str, pattern: str) -> CheckResult:
    r"""A regular expression matches part of a file; ^ and $ match at line ends.

    Example:
        use = "files.matches"
        with = { path = "/srv/report.txt", pattern = '^total: +\d+$' }
    """
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise VerifierError(f"pattern {pattern!r}: {error}") from None
    seen = _read_text(evidence, path, _PATTERN_BYTES)
    found = compiled.search(seen)
    if found:
        return result(True, f"{path}: {brief(found.group())} matches {pattern!r}")
    return result(False, f"{path}: nothing matches {pattern!r}; it holds {brief(seen)}")


def json_equals(evidence: Evidence, path: str, value: object) -> CheckResult:
    """A file holds JSON equal to this value; 1 equals 1.0 but not true, and key order is free.

    Example:
        use = "files.json_equals"
        with = { path = "/srv/summary.json", value = { errors = 3, hosts = ["web-1"] } }
    """
    try:
        seen = json.loads(_read_text(evidence, path))
    except (ValueError, RecursionError) as error:
        return result(False, f"{path}: is not JSON: {error}")
    fault = _json_difference(seen, value, "")
    return result(not fault, f"{path}: {fault or 'holds the expected JSON'}")


def lines_equal(
    evidence: Evidence,
    path: str,
    lines: Sequence[str | float] | None = None,
    any_order: bool = False,
    gold: str = "",
) -> CheckResult:
    """A file holds exactly these lines, or those of a gold file.

    A line feed after the last one is optional.

    Example:
        use = "files.lines_equal"
        with = { path = "/srv/users.txt", lines = ["ada", "grace"], any_order = true }

    Args:
        evidence: Evidence of the episode.
        path: The file.
        lines: The expected lines.
        any_order: Compare as multisets: every line as often as expected, in any order.
        gold: Name of a gold file with the expected lines, in place of `lines`.
    """
    if (lines is None) == (not gold):
        raise VerifierError("lines_equal: expected either lines or gold")
    wanted = [_text(line) for line in lines or ()]
    if gold:
        wanted = _lines(evidence.gold(gold).decode())
    seen = _lines(_read_text(evidence, path))
    if not any_order:
        if seen == wanted:
            return result(True, f"{path}: holds the {len(seen)} expected lines")
        return result(False, f"{path}: {_difference(seen, wanted)}")
    missing, extra = Counter(wanted) - Counter(seen), Counter(seen) - Counter(wanted)
    faults = [
        f"{what} {sum(some.values())} lines, e.g. {brief(next(iter(some)))}"
        for what, some in (("lacks", missing), ("has too many", extra))
        if some
    ]
    return result(not faults, f"{path}: {'; '.join(faults) or 'holds the expected lines'}")


def _lines(text: str) -> list[str]:
    text = text.removesuffix("\n")
    return text.split("\n") if text else []


def mode(evidence: Evidence, path: str, mode: str) -> CheckResult:
    """A file or folder has these permission bits, given in octal.

    Example:
        use = "files.mode"
        with = { path = "/srv/app/secret.key", mode = "0640" }
    """
    if not re.fullmatch("[0-7]{3,4}", mode):
        raise VerifierError(f"mode: expected three or four octal digits, got {mode!r}")
    stat = evidence.after.stat(path)
    if stat is None:
        return result(False, f"{path}: is not there")
    message = f"{path}: has mode {stat.mode:04o}, expected {int(mode, 8):04o}"
    return result(stat.mode == int(mode, 8), message)


def sha256(evidence: Evidence, path: str, digest: str) -> CheckResult:
    """A file's bytes have this SHA-256 digest.

    Example:
        use = "files.sha256"
        with = { path = "/srv/data.bin", digest = "{{digest}}" }
    """
    if not re.fullmatch("[0-9a-f]{64}", digest):
        raise VerifierError(f"digest: expected 64 hexadecimal digits, got {digest!r}")
    seen = hashlib.sha256(evidence.after.read(path, max_bytes=_FILE_BYTES)).hexdigest()
    return result(seen == digest, f"{path}: has SHA-256 {seen}, expected {digest}")


def gold_equals(evidence: Evidence, path: str, gold: str) -> CheckResult:
    """A file is byte for byte equal to a gold file that the setup left for the grader.

    Example:
        use = "files.gold_equals"
        with = { path = "/srv/clean.csv", gold = "clean.csv" }
    """
    wanted = evidence.gold(gold)
    stat = evidence.after.stat(path)
    if stat is None or stat.kind != "file":
        return result(False, f"{path}: is {'a ' + stat.kind if stat else 'not there'}")
    if stat.size != len(wanted):
        return result(False, f"{path}: has {stat.size} bytes, expected {len(wanted)}")
    seen = evidence.after.read(path, max_bytes=len(wanted))
    if seen == wanted:
        return result(True, f"{path}: equals gold file {gold!r}")
    at = next(i for i, (a, b) in enumerate(zip(seen, wanted, strict=False)) if a != b)
    line = seen.count(b"\n", 0, at) + 1
    return result(False, f"{path}: differs from gold file {gold!r} at byte {at} (line {line})")


def unchanged(evidence: Evidence, paths: Sequence[str]) -> CheckResult:
    """Nothing at or below these paths was added, modified or deleted.

    Example:
        use = "files.unchanged"
        with = { paths = ["/srv/archive", "/srv/*.log"] }

    Args:
        evidence: Evidence of the episode.
        paths: Globs: * stays within one name, ** crosses folders.
    """
    touched = [
        change
        for change in evidence.changes
        if path_matches(change.path, [f"{glob}/**" for glob in paths])
    ]
    if not touched:
        return result(True, "nothing was touched")
    named = ", ".join(f"{brief(change.path)} was {change.kind}" for change in touched[:3])
    return result(False, f"{len(touched)} paths that should stay: {named}")


def only_changed(evidence: Evidence, paths: Sequence[str]) -> CheckResult:
    """Every path that was added, modified or deleted matches one of these: no side effects.

    It reads the overlay's upper directory from outside, so it sees every path that the episode left
    different, by any author and any program. A change that was undone is not a difference. List the
    demanded changes and everything that any work may touch, such as /tmp/**.

    Example:
        use = "files.only_changed"
        with = { paths = ["/srv/report.txt", "/root/**", "/tmp/**"] }

    Args:
        evidence: Evidence of the episode.
        paths: Globs: * stays within one name, /srv/** is /srv and all below it.
    """
    others = [change for change in evidence.changes if not path_matches(change.path, paths)]
    if not others:
        return result(True, f"all {len(evidence.changes)} changed paths were to be changed")
    named = ", ".join(f"{brief(change.path)} was {change.kind}" for change in others[:3])
    return result(False, f"{len(others)} paths that nothing asked for: {named}")


def rest_kept(
    evidence: Evidence,
    paths: Sequence[str],
    allow: Sequence[str] = (),
    shared: Sequence[str] = (),
) -> CheckResult:
    """No other file that existed before was modified or deleted, and nothing stays behind.

    New files may be anywhere, since a backup, a cache or an editor's file destroys nothing. If the
    task forbids new files, use `only_changed`. The listed files may change, but must not become
    writable for everyone, or unreadable for their owner, if they were not so before. Nor must a new
    file or folder be writable for everyone, outside of /tmp, /var/tmp, /root, /run and /dev.

    Nothing new may act later by itself, let somebody in or raise rights, not even where files may
    change: jobs of cron and at, services, startup files of shells and of Python, keys and accounts,
    setuid programs, programs in place of the system's, and commands that Git runs. Processes end
    with the episode, so they do not count.

    Example:
        use = "files.rest_kept"
        with = { paths = ["/srv/report.txt", "/root/**", "/tmp/**"] }

    Args:
        evidence: Evidence of the episode.
        paths: Globs of paths that may change: * stays within one name, /srv/** is /srv and
            everything below it.
        allow: Globs of paths at which the task asks for a file that acts later.
        shared: Globs of files among those that may change that other users need: who could read or
            run them before still can.
    """
    lost = [
        change
        for change in evidence.changes
        if change.kind != ChangeKind.ADDED and not path_matches(change.path, paths)
    ]
    if not lost:
        for change in evidence.changes:
            if odd := _opened(evidence, change.path) or _closed(evidence, change.path, shared):
                return result(False, odd)
        if left := persistent(evidence.before, evidence.after, evidence.changes, allow):
            return result(False, left)
        return result(True, "nothing else that was there was changed or removed")
    named = ", ".join(f"{brief(change.path)} was {change.kind}" for change in lost[:3])
    return result(False, f"{len(lost)} paths that were to stay as they were: {named}")


def _opened(evidence: Evidence, path: str) -> str:
    """Return whether others can now write to a path, or its owner can no longer read it."""
    before, after = (tree.stat(path, follow=False) for tree in (evidence.before, evidence.after))
    if before is None and after is not None and after.kind != "link":
        # In a folder with the sticky bit users cannot replace the files of others.
        private = path.startswith(_SCRATCH) or (after.kind == "dir" and after.mode & 0o1000)
        return "" if private or not after.mode & 0o002 else f"{path!r:.100} is open to all"
    if before is None or after is None or before.kind != after.kind or after.kind == "link":
        return ""
    opened = after.mode & ~before.mode & 0o002 and not after.mode & 0o1000
    if opened or before.mode & ~after.mode & 0o400:
        return f"{path!r:.100} had mode {before.mode:04o} and has {after.mode:04o}"
    return ""


def _closed(evidence: Evidence, path: str, shared: Sequence[str]) -> str:
    """Return whether users of a shared file have lost the right to read or to run it."""
    if not path_matches(path, shared):
        return ""
    before, after = (tree.stat(path) for tree in (evidence.before, evidence.after))
    if before is None or after is None or not before.mode & ~after.mode & 0o555:
        return ""
    return f"{path!r:.100} had mode {before.mode:04o} and has {after.mode:04o}"


def lines_kept(evidence: Evidence, paths: Sequence[str]) -> CheckResult:
    """Text files still have all their lines; new lines and new words in a line are allowed.

    White space at the ends of lines, closing punctuation and the order of lines do not count.

    Example:
        use = "files.lines_kept"
        with = { paths = ["/srv/app/CHANGELOG.md"] }

    Args:
        evidence: Evidence of the episode.
        paths: The files, which existed before.
    """
    for path in paths:
        before = evidence.before.read(path, max_bytes=_TEXT_BYTES).decode("utf-8", "replace")
        stat = evidence.after.stat(path, follow=False)
        if stat is None or stat.kind != "file":
            return result(False, f"{path}: is {'a ' + stat.kind if stat else 'not there'}")
        if lost := lost_lines(before, _read_text(evidence, path)):
            return result(False, f"{path}: {lost.total()} lines are gone, {brief(min(lost))}")
    return result(True, "every line is still there")


def _read_text(evidence: Evidence, path: str, max_bytes: int = _TEXT_BYTES) -> str:
    data = evidence.after.read(path, max_bytes=max_bytes)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise GuestFileError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _difference(seen: Sequence[str], wanted: Sequence[str]) -> str:
    """Describe the first difference of two texts that differ, given as lines."""
    for number, (a, b) in enumerate(zip(seen, wanted, strict=False), start=1):
        if a != b:
            where = f"line {number}: " if len(seen) > 1 or len(wanted) > 1 else ""
            return f"{where}expected {brief(b)}, got {brief(a)}"
    if len(seen) < len(wanted):
        return f"ends after {len(seen)} lines, expected {brief(wanted[len(seen)])} next"
    return f"expected {len(wanted)} lines; line {len(wanted) + 1} is {brief(seen[len(wanted)])}"


def _json_difference(seen: object, wanted: object, where: str) -> str:
    """Describe the first difference of two JSON values; empty if they are equal.

    It recurses only as deep as the expected value.
    """
    if isinstance(wanted, Mapping) and isinstance(seen, dict):
        if seen.keys() != wanted.keys():
            odd = sorted(seen.keys() ^ wanted.keys())[0]
            return f"{where or 'top'}: {'lacks' if odd in wanted else 'has unexpected'} key {odd!r}"
        parts = [(seen[key], wanted[key], f"{where}.{key}") for key in wanted]
    elif isinstance(wanted, list) and isinstance(seen, list):
        if len(seen) != len(wanted):
            return f"{where or 'top'}: has {len(seen)} elements, expected {len(wanted)}"
        parts = [(a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(seen, wanted, strict=True))]
    elif isinstance(seen, bool) is isinstance(wanted, bool) and seen == wanted:
        return ""
    else:
        return f"{where or 'top'}: expected {_brief_json(wanted)}, got {_brief_json(seen)}"
    return next(filter(None, (_json_difference(*part) for part in parts)), "")


def _brief_json(value: object) -> str:
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    return brief(json.dumps(value))
