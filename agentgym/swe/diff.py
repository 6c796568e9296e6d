"""Patches as text: unified diffs in Git's extended format, written and applied without Git.

The format is that of git-diff(1) and git-apply(1), with binary literals and deltas as in
gitformat-pack(5). All content is bytes: lines end at LF alone, so CRLF and odd encodings survive.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from agentgym.comparison import COMPARISONS, Budget, BudgetSpentError, Matcher, Opcode
from agentgym.swe.binary_diff import write_literal
from agentgym.swe.patch import Entry, FileChange, Patch

_CONTEXT = 3
_COMPARED = 4_000_000

_PLAIN = re.compile(rb"[ !#-\[\]-~]+")
_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", 9: "\\t", 10: "\\n", 13: "\\r"}


def write_diff(patch: Patch) -> str:
    """Return a patch as text that `git apply` takes; content that is not UTF-8 is binary."""
    budget = Budget(COMPARISONS)
    return "".join(_file_diff(change, budget) for change in patch.changes)


def _file_diff(change: FileChange, budget: Budget) -> str:
    was, now = change.before, change.after
    if was is not None and now is not None and was.kind != now.kind:
        parts = (FileChange(change.path, was, None), FileChange(change.path, None, now))
        return "".join(_file_diff(part, budget) for part in parts)
    old, new = _quoted("a/", change.path), _quoted("b/", change.path)
    text = f"diff --git {old} {new}\n"
    if was is None and now is not None:
        text += f"new file mode {now.git_mode}\n"
    elif now is None and was is not None:
        text += f"deleted file mode {was.git_mode}\n"
    elif was is not None and now is not None and was.git_mode != now.git_mode:
        text += f"old mode {was.git_mode}\nnew mode {now.git_mode}\n"
    before, after = (was.data if was else b""), (now.data if now else b"")
    if before == after:
        return text
    mode = f" {was.git_mode}" if was and now and was.git_mode == now.git_mode else ""
    text += f"index {_blob_id(was)}..{_blob_id(now)}{mode}\n"
    if _is_binary(before) or _is_binary(after):
        return f"{text}GIT binary patch\n{write_literal(after)}\n{write_literal(before)}\n"
    text += f"--- {old if was else '/dev/null'}\n+++ {new if now else '/dev/null'}\n"
    return text + "".join(_hunks(_lines(before), _lines(after), budget))


def _hunks(old: Sequence[str], new: Sequence[str], budget: Budget) -> Iterator[str]:
    for group in _groups(old, new, budget):
        first, last = group[0], group[-1]
        yield (f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@\n")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (_line(" ", line) for line in old[i1:i2])
                continue
            yield from (_line("-", line) for line in old[i1:i2])
            yield from (_line("+", line) for line in new[j1:j2])


def _groups(
    old: Sequence[str], new: Sequence[str], budget: Budget
) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Yield the opcodes of each hunk.

    The lines that are unique in both files align them (patience diff). A long stretch without such
    lines is not compared line by line.
    """
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    found = _Found(list(_merged(_aligned(old, new, head, tail, budget))))
    yield from found.get_grouped_opcodes(_CONTEXT)


class _Found(difflib.SequenceMatcher[str]):
    """Groups opcodes that are known already."""

    def __init__(self, opcodes: list[Opcode]) -> None:
        super().__init__(None, (), (), False)
        self._found = opcodes

    def get_opcodes(self) -> list[Opcode]:
        """Return the known opcodes."""
        return self._found


def _aligned(
    old: Sequence[str], new: Sequence[str], head: int, tail: int, budget: Budget
) -> Iterator[Opcode]:
    """Yield opcodes between the lines that are unique in both files and in the same order."""
    yield "equal", 0, head, 0, head
    i, j = head, head
    ends = len(old) - tail, len(new) - tail
    for at, place in [*_anchors(old, new, head, tail), ends]:
        yield from _compared(old, new, (i, at, j, place), budget)
        i, j = at, place
    yield "equal", i, len(old), j, len(new)


def _compared(
    old: Sequence[str], new: Sequence[str], part: tuple[int, int, int, int], budget: Budget
) -> Iterator[Opcode]:
    """Yield the opcodes of a part of two files."""
    i, end, j, stop = part
    ours, theirs = old[i:end], new[j:stop]
    if ours == theirs:
        yield "equal", *part
        return
    if len(ours) * len(theirs) <= _COMPARED:
        with contextlib.suppress(BudgetSpentError):
            for tag, i1, i2, j1, j2 in Matcher(ours, theirs, budget).get_opcodes():
                yield tag, i + i1, i + i2, j + j1, j + j2
            return
    yield "replace", *part


def _anchors(old: Sequence[str], new: Sequence[str], head: int, tail: int) -> list[tuple[int, int]]:
    """Return the places of lines that are unique in both files: the longest rising sequence."""
    ours, theirs = Counter(old), Counter(new)
    places = {line: place for place, line in enumerate(new) if theirs[line] == 1}
    pairs = [
        (at, places[old[at]])
        for at in range(head, len(old) - tail)
        if ours[old[at]] == 1 and old[at] in places
    ]
    lowest: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(lowest, place)
        lowest[length : length + 1] = [place]
        ends[length : length + 1] = [number]
        before.append(ends[length - 1] if length else -1)
    rising: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        rising.append(pairs[number])
        number = before[number]
    return rising[::-1]


def _merged(opcodes: Iterable[Opcode]) -> Iterator[Opcode]:
    """Yield opcodes without empty ones; equal neighbours become one."""
    last: Opcode | None = None
    for tag, i1, i2, j1, j2 in opcodes:
        if i1 == i2 and j1 == j2:
            continue
        if last and last[0] == tag == "equal":
            last = tag, last[1], i2, last[3], j2
            continue
        if last:
            yield last
        last = tag, i1, i2, j1, j2
    if last:
        yield last


def _span(start: int, stop: int) -> str:
    count = stop - start
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[str]:
    # Not splitlines: it also splits at CR, form feed and Unicode separators.
    lines = data.decode().split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _is_binary(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return b"\0" in data


def _blob_id(entry: Entry | None) -> str:
    if entry is None:
        return "0" * 40
    return hashlib.sha1(b"blob %d\0" % len(entry.data) + entry.data).hexdigest()


def _quoted(side: str, path: str) -> str:
    data = path.encode("utf-8", "surrogateescape")
    if _PLAIN.fullmatch(data):
        return side + path
    inner = "".join(
        _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in data
    )
    return f'"{side}{inner}"'
