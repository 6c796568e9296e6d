"""Patches: a text described by its differences from another.

The hunks are those of a unified diff (GNU diffutils) without line numbers: a hunk applies where
its lines are found. So a person can write one, and it survives changes elsewhere in the text.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentgym.errors import AgentGymError, TaskError
from agentgym.manifest import read_text, show_path


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, without its end; lines count from 1."""

    text: str
    file: str
    number: int

    @property
    def where(self) -> str:
        """Return ``file:line``."""
        return f"{self.file}:{self.number}"


@dataclass(frozen=True, slots=True)
class _Hunk:
    where: str
    old: list[Line] = field(default_factory=list)
    new: list[Line] = field(default_factory=list)


def read_lines(path: Path, error: type[AgentGymError]) -> list[Line]:
    """Return the lines of a UTF-8 file, with an empty last one after a final line break.

    Raises:
        AgentGymError: Of class `error`; the file cannot be read.
    """
    texts, shown = read_text(path, error).split("\n"), show_path(path)
    return [Line(text, shown, number) for number, text in enumerate(texts, start=1)]


def apply_patch(patch: Sequence[Line], original: Sequence[Line]) -> list[Line]:
    """Return the original with a patch applied, without the comments at the patch's beginning.

    Each line that begins with ``@@`` opens a hunk, whose lines are removed (``-``), added (``+``)
    or kept (a space, or an empty line). The removed and kept lines must be found together at
    exactly one place of the original, below the place of the previous hunk.

    Raises:
        TaskError: The patch is invalid, or does not apply; names file and line.
    """
    comments, hunks = _parse(patch)
    result, done = comments, 0
    for hunk in hunks:
        place = _find(hunk, original, done)
        result += [*original[done:place], *hunk.new]
        done = place + len(hunk.old)
    return [*result, *original[done:]]


def _parse(patch: Sequence[Line]) -> tuple[list[Line], list[_Hunk]]:
    comments: list[Line] = []
    hunks: list[_Hunk] = []
    for line in patch[:-1] if patch[-1].text == "" else patch:
        if line.text.startswith("@@"):
            hunks.append(_Hunk(line.where))
        elif hunks:
            _extend(hunks[-1], line)
        elif line.text.startswith("#"):
            comments.append(line)
        else:
            raise TaskError(
                f"{line.where}: expected a comment (#) or a hunk (@@), got {line.text!r}"
            )
    if not hunks:
        raise TaskError(
            f"{patch[-1].file}: expected at least one hunk, which begins with @@, got none"
        )
    return comments, hunks


def _extend(hunk: _Hunk, line: Line) -> None:
    sign, inner = line.text[:1], Line(line.text[1:], line.file, line.number)
    if sign not in ("", " ", "-", "+"):
        raise TaskError(
            f"{line.where}: expected a line that begins with -, + or a space, got {line.text!r}"
        )
    if sign != "+":
        hunk.old.append(inner)
    if sign != "-":
        hunk.new.append(inner)


def _find(hunk: _Hunk, original: Sequence[Line], start: int) -> int:
    """Return the index, from `start` on, of the only place that has a hunk's old lines."""
    if not hunk.old:
        raise TaskError(f"{hunk.where}: expected a removed or kept line, which marks the place")
    old = [line.text for line in hunk.old]
    texts = [line.text for line in original]
    places = [at for at in range(start, len(texts)) if texts[at : at + len(old)] == old]
    if len(places) == 1:
        return places[0]
    if places:
        found = ", ".join(original[place].where for place in places)
        raise TaskError(f"{hunk.where}: expected one place, got {found}; add kept lines")
    missing = next((line for line in hunk.old if line.text not in texts[start:]), None)
    file = original[0].file
    if missing is None:
        raise TaskError(f"{hunk.where}: expected lines together in {file}, got lines found apart")
    near = difflib.get_close_matches(missing.text, texts[start:], n=1)
    raise TaskError(
        f"{missing.where}: expected a line of {file} from line {start + 1} on, "
        f"got {missing.text!r}{f'; did you mean {near[0]!r}?' if near else ''}"
    )
