"""Patches: a text told by what it changes in another.

The hunks are those of a unified diff (GNU diffutils) without the line numbers: a hunk stands where
its lines are found. So a person can write one, and it outlives a change anywhere else in the text.
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
    """Return the lines of a UTF-8 file, an empty last one where it ends as text files do.

    Raises:
        AgentGymError: As `error`; it cannot be read.
    """
    texts, shown = read_text(path, error).split("\n"), show_path(path)
    return [Line(text, shown, number) for number, text in enumerate(texts, start=1)]


def apply_patch(patch: Sequence[Line], original: Sequence[Line]) -> list[Line]:
    """Return the original with a patch's changes, below the comments that the patch begins with.

    Each line that begins with ``@@`` opens a hunk, whose lines go (``-``), come (``+``) or stay
    (a space, or nothing at all). Those that go or stay must be found together at exactly one place
    of the original, below the place of the hunk before.

    Raises:
        TaskError: It is no patch, or does not apply; names file and line.
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
    """Return the index of the one place, from `start` on, where a hunk's old lines stand."""
    if not hunk.old:
        raise TaskError(f"{hunk.where}: expected a line that goes or stays, to tell the place")
    old = [line.text for line in hunk.old]
    texts = [line.text for line in original]
    places = [at for at in range(start, len(texts)) if texts[at : at + len(old)] == old]
    if len(places) == 1:
        return places[0]
    if places:
        found = ", ".join(original[place].where for place in places)
        raise TaskError(f"{hunk.where}: expected one place, got {found}; add lines that stay")
    missing = next((line for line in hunk.old if line.text not in texts[start:]), None)
    file = original[0].file
    if missing is None:
        raise TaskError(f"{hunk.where}: expected lines together in {file}, got lines found apart")
    near = difflib.get_close_matches(missing.text, texts[start:], n=1)
    raise TaskError(
        f"{missing.where}: expected a line of {file} from line {start + 1} on, "
        f"got {missing.text!r}{f'; did you mean {near[0]!r}?' if near else ''}"
    )
