"""Applies patches that are text, as `git apply` and `patch` do, without running either."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agentgym.swe.binary_diff import read_part
from agentgym.swe.patch import (
    PATCH_BYTES,
    Entry,
    FileChange,
    Lookup,
    Patch,
    PatchError,
    check_above,
    check_path,
    patch_of,
)

FUZZ = 2
"""Lines of context that may differ at either end of a hunk, as patch(1) allows."""
_TEXT_BYTES = 4 * PATCH_BYTES
_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_MODE = re.compile(rb"(?:new file|deleted file|old|new) mode (\d{6})$")
_MODES = (b"100644", b"100755", b"120000", b"100664", b"100600")
_UNESCAPED = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b'"': b'"', b"\\": b"\\"}
_COMPARISONS = 2_000_000
_BEGINNING = 8


@dataclass
class _Hunk:
    start: int
    lines: list[tuple[bytes, bytes]]


@dataclass
class _Section:
    """The part of a patch about one file."""

    old: str | None = None
    new: str | None = None
    mode: bytes = b""
    adds: bool = False
    deletes: bool = False
    copies: bool = False
    hunks: list[_Hunk] = field(default_factory=list)
    binary: tuple[bytes, list[bytes]] | None = None


def apply_diff(text: str | bytes, base: Lookup, *, fuzz: int = FUZZ) -> Patch:
    """Return the changes that a unified diff makes to a repository.

    Hunks are looked for near the line that they name. An empty text is a patch without changes.

    Args:
        text: The diff, paths with one leading folder (``a/``, ``b/``).
        base: The files of the repository.
        fuzz: See `FUZZ`.

    Raises:
        PatchError: It is malformed, too large, or does not apply; names file and hunk.
    """
    data = text if isinstance(text, bytes) else _encoded(text)
    if len(data) > _TEXT_BYTES:
        raise PatchError(f"a patch of {len(data)} bytes; expected at most {_TEXT_BYTES}")
    if data and not data.endswith(b"\n"):
        data += b"\n"
    sections = list(_sections(data.split(b"\n")[:-1]))
    if data.strip() and not sections:
        raise PatchError("the patch names no file; expected a unified diff")
    state: dict[str, Entry | None] = {}

    def current(path: str) -> Entry | None:
        return state[path] if path in state else base(path)

    for section in sections:
        _apply_section(section, state, current, fuzz)
    for path, entry in state.items():
        if entry is not None:
            check_above(path, lambda up: current(up) is not None)
    return patch_of(FileChange(path, base(path), entry) for path, entry in state.items())


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise PatchError(f"the patch is not Unicode: {error.reason}") from None


def _apply_section(
    section: _Section, state: dict[str, Entry | None], current: Lookup, fuzz: int
) -> None:
    source = section.old or section.new or ""
    target = section.new or section.old or ""
    was = current(source)
    if section.adds and was is not None:
        raise PatchError(f"{source}: the patch adds it, and it exists already")
    if was is None and not section.adds:
        raise PatchError(f"{source}: the patch changes it, and there is no such file")
    before = was.data if was else b""
    if section.binary is not None:
        content = read_part(*section.binary, before)
    else:
        content = _apply_hunks(source, before, section.hunks, fuzz)
    if source != target and current(target) is not None:
        raise PatchError(f"{target}: the patch moves or copies a file to it, and it exists already")
    if section.deletes:
        if content:
            raise PatchError(f"{source}: the patch deletes it, and it has other content")
        state[source] = None
        return
    if source != target and not section.copies:
        state[source] = None
    mode = section.mode or (was.git_mode.encode() if was else b"100644")
    state[target] = Entry("link" if mode == b"120000" else "file", content, mode == b"100755")


class _Lines:
    """The lines of a file and where each occurs; the effort of searching is bounded.

    Args:
        data: Content of the file.
    """

    def __init__(self, data: bytes) -> None:
        lines = data.split(b"\n")
        self.all = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        self._places: dict[bytes, list[int]] = {}
        for at, line in enumerate(self.all):
            self._places.setdefault(line, []).append(at)
        self._left = _COMPARISONS

    def find(self, part: list[bytes], wanted: int, first: int) -> int | None:
        """Return where these lines stand nearest to a line, at or below `first`."""
        last = len(self.all) - len(part)
        if not part:
            return min(max(wanted, first), last) if first <= last else None
        if first <= wanted <= last and self.all[wanted : wanted + len(part)] == part:
            return wanted
        places = self._places.get(part[0], [])
        self._left -= len(places) + len(part)
        if self._left < 0:
            raise PatchError("the patch has more hunks in other places than can be looked for")
        near = sorted((at for at in places if first <= at <= last), key=lambda at: abs(at - wanted))
        beginning = part[:_BEGINNING]
        for at in near:
            # A file may repeat the beginning of a part thousands of times.
            begins_so = self.all[at : at + len(beginning)] == beginning
            self._left -= len(part) if begins_so else 1
            if self._left < 0:
                raise PatchError("the patch has hunks that nearly fit in too many places")
            if begins_so and self.all[at : at + len(part)] == part:
                return at
        return None


def _apply_hunks(path: str, before: bytes, hunks: Sequence[_Hunk], fuzz: int) -> bytes:
    lines = _Lines(before)
    made: list[bytes] = []
    done = shift = 0
    for number, hunk in enumerate(hunks, 1):
        old = [line for sign, line in hunk.lines if sign != b"+"]
        new = [line for sign, line in hunk.lines if sign != b"-"]
        named = max(hunk.start - (1 if old else 0), 0)
        found = _find(lines, old, hunk, named + shift, done, fuzz)
        if found is None:
            raise PatchError(f"{path}: hunk {number} (line {hunk.start}) does not apply")
        at, head, tail = found
        made += lines.all[done:at]
        made += new[head : len(new) - tail]
        done = at + len(old) - head - tail
        shift = at - head - named
    return b"".join([*made, *lines.all[done:]])


def _find(
    lines: _Lines, old: list[bytes], hunk: _Hunk, wanted: int, done: int, fuzz: int
) -> tuple[int, int, int] | None:
    """Return where a hunk fits, and the lines of context left out at its ends."""
    signs = [sign for sign, _ in hunk.lines]
    lead = next((i for i, sign in enumerate(signs) if sign != b" "), len(signs))
    trail = next((i for i, sign in enumerate(reversed(signs)) if sign != b" "), len(signs))
    for level in range(min(fuzz, max(lead, trail)) + 1):
        head, tail = min(level, lead), min(level, trail)
        part = old[head : len(old) - tail]
        if level and not part:
            return None
        at = lines.find(part, wanted + head, done)
        if at is not None:
            return at, head, tail
    return None


def _sections(lines: list[bytes]) -> Iterator[_Section]:
    at, section = 0, None
    while at < len(lines):
        line = lines[at]
        if line.startswith(b"diff --git "):
            yield from _finished(section)
            section, at = _Section(), at + 1
            section.old, section.new = _names(line[11:])
            continue
        plain = (
            line.startswith(b"--- ")
            and lines[at + 1 : at + 2]
            and lines[at + 1].startswith(b"+++ ")
        )
        if plain:
            if section is None or section.hunks or section.binary is not None:
                yield from _finished(section)
                section = _Section()
            _read_names(section, lines[at], lines[at + 1])
            at += 2
        elif line.startswith(b"@@ -") and section is not None:
            at = _read_hunk(section, lines, at)
        elif line == b"GIT binary patch" and section is not None:
            at = _read_binary(section, lines, at + 1)
        else:
            if section is not None:
                _read_header(section, line)
            at += 1
    yield from _finished(section)


def _finished(section: _Section | None) -> Iterator[_Section]:
    if section is None:
        return
    if section.old is None and section.new is None:
        raise PatchError("a part of the patch names no file")
    for path in {section.old, section.new} - {None}:
        check_path(path or "")
    if section.mode and section.mode not in _MODES:
        what = "a submodule" if section.mode == b"160000" else f"mode {section.mode.decode()}"
        raise PatchError(f"{section.new or section.old}: {what} cannot be part of a patch")
    yield section


def _names(rest: bytes) -> tuple[str | None, str | None]:
    """Return the two paths of a ``diff --git`` line; None if they cannot be told apart."""
    quoted = re.fullmatch(rb'("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)', rest)
    if quoted:
        return _path(quoted[1]), _path(quoted[2])
    half = len(rest) // 2
    if rest[half : half + 1] == b" " and rest[2:half] == rest[half + 3 :]:
        return _path(rest[:half]), _path(rest[half + 1 :])
    return None, None


def _path(name: bytes, *, bare: bool = False) -> str | None:
    name = name.rstrip(b"\r")
    if name.startswith(b'"') and name.endswith(b'"') and len(name) > 1:
        name = re.sub(rb"\\([0-7]{3}|.)", _unescape, name[1:-1])
    if name == b"/dev/null":
        return None
    path = name.decode("utf-8", "surrogateescape")
    head, slash, rest = path.partition("/")
    return rest if not bare and slash and head in ("a", "b", "i", "w", "c", "o") else path


def _unescape(found: re.Match[bytes]) -> bytes:
    if len(found[1]) == 3:
        return bytes([int(found[1], 8) & 0xFF])
    return _UNESCAPED.get(found[1], found[1])


def _read_names(section: _Section, old: bytes, new: bytes) -> None:
    # A time stamp may follow a tab.
    was, now = (_path(line[4:].split(b"\t")[0]) for line in (old, new))
    section.adds, section.deletes = section.adds or was is None, section.deletes or now is None
    section.old, section.new = was or now, now or was


def _read_header(section: _Section, line: bytes) -> None:
    if found := _MODE.match(line.rstrip(b"\r")):
        if not line.startswith(b"old"):
            section.mode = found[1]
        section.adds = section.adds or line.startswith(b"new file")
        section.deletes = section.deletes or line.startswith(b"deleted")
    for word in (b"rename", b"copy"):
        for end, side in ((b" from ", "old"), (b" to ", "new")):
            if line.startswith(word + end):
                setattr(section, side, _path(line[len(word + end) :], bare=True))
                section.copies = section.copies or word == b"copy"


def _read_hunk(section: _Section, lines: list[bytes], at: int) -> int:
    found = _HUNK.match(lines[at])
    if found is None:
        raise PatchError(f"a hunk begins with {lines[at][:60]!r}")
    left = [int(found[2] or 1), int(found[4] or 1)]
    hunk = _Hunk(int(found[1]), [])
    at += 1
    while at < len(lines) and (any(left) or lines[at].startswith(b"\\")):
        line = lines[at]
        if line.startswith(b"\\"):
            if not hunk.lines:
                raise PatchError("a hunk begins with a remark on its last line")
            sign, text = hunk.lines[-1]
            hunk.lines[-1] = sign, text.removesuffix(b"\n")
            at += 1
            continue
        # Some programs strip the blank of an empty line of context.
        sign, text = (line[:1], line[1:]) if line else (b" ", b"")
        if sign not in (b" ", b"+", b"-"):
            break
        left[0] -= sign != b"+"
        left[1] -= sign != b"-"
        hunk.lines.append((sign, text + b"\n"))
        at += 1
    if left != [0, 0]:
        name = section.new or section.old
        raise PatchError(f"{name}: the hunk at line {found[1].decode()} has the wrong length")
    section.hunks.append(hunk)
    return at


def _read_binary(section: _Section, lines: list[bytes], at: int) -> int:
    header, at = lines[at] if at < len(lines) else b"", at + 1
    stop = at
    while stop < len(lines) and lines[stop]:
        stop += 1
    section.binary = header, lines[at:stop]
    stop += 1
    # The second part undoes the first.
    if stop < len(lines) and lines[stop].startswith((b"literal ", b"delta ")):
        while stop < len(lines) and lines[stop]:
            stop += 1
    return stop
