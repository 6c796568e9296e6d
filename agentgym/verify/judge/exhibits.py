"""Exhibits: the pieces of evidence that a judge is shown and can cite.

Long texts lose their middle; an exhibit says whether that is the case for what the agent has
written, because an agent can put there what it wants to hide. An agent's thoughts are not shown,
because an intention does not prove an action.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from agentgym.errors import GuestFileError, VerifierError
from agentgym.records import Exhibit, Image, Json, Judgement, Step
from agentgym.task.state import path_matches
from agentgym.verify.giving_up import given_up
from agentgym.verify.messages.sources import Written, check_source, written

if TYPE_CHECKING:
    from agentgym.protocols import Evidence, FileTree

Show: TypeAlias = "str | Mapping[str, Json]"
"""One exhibit kind in a rubric: one of `SHOWS`, ``files:GLOB``, or a source of messages."""

Source: TypeAlias = "str | Mapping[str, Json]"

SHOWS = ("steps", "answer", "changes", "screenshots", "messages")
MESSAGES = ("user", "mail", "comment", "chat", "calendar", "answer", "reason")
"""The sources of ``messages``: every text that an agent writes to people."""
FILES = "files:"

_WRITTEN: Mapping[str, Sequence[str]] = {
    **{source: (source,) for source in MESSAGES},
    **{"messages": MESSAGES, "answer": ("answer", "reason")},
}

ACTION_CHARS = 3_000
OBSERVATION_CHARS = 4_000
ANSWER_CHARS = 8_000
FILE_CHARS = 16_000
MESSAGE_CHARS = 8_000
MOST_FILES = 30
MOST_MESSAGES = 60
_HEARD_CHARS = 1_000
MOST_CHANGES = 300
_LOOKED_AT = 100_000
_READ_BYTES = 1024 * 1024
_ODD_SHARE = 0.2
"""A file with a larger share of undecodable bytes is no text; in others they are shown escaped."""

_KINDS_WRITTEN = ("answer", "message", "file")


def check_show(show: Sequence[Show]) -> None:
    """Refuse an invalid `show`.

    Raises:
        VerifierError: It is not a list of `SHOWS`, ``files:/absolute/glob`` and sources of
            messages, or it is empty.
    """
    if isinstance(show, str) or not isinstance(show, Sequence) or not show:
        raise VerifierError(f"show: expected a list such as ['steps', 'answer'], got {show!r}")
    for item in show:
        if isinstance(item, Mapping):
            check_source(item)
            continue
        if (
            item in SHOWS
            or item in MESSAGES
            or (isinstance(item, str) and item.startswith(f"{FILES}/"))
        ):
            continue
        known = ", ".join(map(repr, SHOWS))
        raise VerifierError(
            f"show: expected {known}, 'files:/absolute/glob' or a source of messages such as "
            f"{{ mail = 'ada@x.example' }}, got {item!r}"
        )


def gather(evidence: Evidence, show: Sequence[Show]) -> list[Exhibit]:
    """Return the exhibits of an episode, numbered in the order of `show`.

    Raises:
        VerifierError: A demanded exhibit cannot be shown.
    """
    check_show(show)
    found: list[_Piece] = []
    for place, item in enumerate(show):
        if item in show[:place]:
            continue
        if isinstance(item, Mapping) or (item in _WRITTEN and item != "answer"):
            found += _messages(shown_messages(evidence, [item]) or [], item)
        elif item == "steps":
            found += [_step(step) for step in evidence.steps]
        elif item == "answer":
            found.append(_ending(evidence))
        elif item == "changes":
            found.append(_changes(evidence))
        elif item == "screenshots":
            found += _screens(evidence.steps)
        else:
            found += _files(evidence.after, item.removeprefix(FILES))
    return _numbered(found)


def sources_of(item: Show) -> Sequence[Source]:
    """Return the sources of messages if only messages are shown, else nothing."""
    return (item,) if isinstance(item, Mapping) else _WRITTEN.get(item, ())


def shown_messages(evidence: Evidence, show: Sequence[Show]) -> list[tuple[Source, Written]] | None:
    """Return the messages that are shown, or None if anything else is shown as well."""
    sources = [sources_of(item) for item in show]
    if not all(sources):
        return None
    return [(one, found) for some in sources for one in some for found in written(evidence, one)]


def message_exhibits(messages: Sequence[tuple[Source, Written]]) -> list[Exhibit]:
    """Return messages as exhibits, for a caller that judges texts and not an episode."""
    return _numbered([_message(source, one) for source, one in messages])


def cut(text: str, limit: int) -> str:
    """Return a text; if it is longer than about `limit`, its middle is left out."""
    if len(text) <= limit:
        return text
    half = max(limit // 2, 1)
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[{left_out} characters left out]\n{text[-half:]}"


def is_written(exhibit: Exhibit) -> bool:
    """Return whether an exhibit is what the agent has left for people to read."""
    return exhibit.kind in _KINDS_WRITTEN


def shortened(exhibit: Exhibit, text: str) -> Exhibit:
    """Return an exhibit with a shorter text; it says if the agent's own words were left out."""
    lost = is_written(exhibit) and text != exhibit.text
    return replace(exhibit, text=text, left_out=exhibit.left_out or lost)


def with_left_out(judgement: Judgement, exhibits: Sequence[Exhibit]) -> Judgement:
    """Return a judgement that names the exhibits of which the judge did not see everything."""
    ids = [exhibit.id for exhibit in exhibits if exhibit.left_out]
    return replace(judgement, left_out=tuple(dict.fromkeys((*ids, *judgement.left_out))))


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    kind: str
    title: str
    text: str = ""
    image: Image | None = None
    left_out: bool = False


def _cut(kind: str, title: str, text: str, limit: int) -> _Piece:
    """Return a piece whose text the agent has written."""
    return _Piece(kind, title, cut(text, limit), left_out=len(text) > limit)


def _numbered(pieces: Sequence[_Piece]) -> list[Exhibit]:
    return [
        Exhibit(f"E{number}", piece.kind, piece.title, piece.text, piece.image, piece.left_out)
        for number, piece in enumerate(pieces, 1)
    ]


def _step(step: Step) -> _Piece:
    arguments = "\n".join(f"{name} = {_plain(v)}" for name, v in step.action.arguments.items())
    lines = [f"The agent called {step.action.tool}", cut(arguments, ACTION_CHARS)]
    lines += [f"The world: {h.kind} {h.id}: {h.detail}" for h in step.events]
    lines.append(f"It saw (effect: {step.observation.effect}):")
    lines.append(cut(step.observation.text, OBSERVATION_CHARS))
    return _Piece("step", f"Step {step.index}", "\n".join(lines))


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=dict)


def _ending(evidence: Evidence) -> _Piece:
    if (said := given_up(evidence)) is not None:
        fields = f"category: {said.category}\nsubject: {said.subject}\n" if said.category else ""
        return _cut("answer", "The agent gave up, saying:", fields + said.reason, ANSWER_CHARS)
    if evidence.answer is None:
        return _Piece("answer", "The agent submitted no answer: the episode was ended for it")
    if not evidence.answer:
        return _Piece("answer", "The agent ended the episode with an empty answer")
    return _cut("answer", "The agent submitted this answer:", evidence.answer, ANSWER_CHARS)


def _messages(messages: Sequence[tuple[Source, Written]], item: Show) -> list[_Piece]:
    if not messages:
        return [_Piece("message", f"The agent wrote no message: {_on_one_line(_plain(item))}")]
    pieces = [_message(source, one) for source, one in messages[:MOST_MESSAGES]]
    if len(messages) > MOST_MESSAGES:
        more = len(messages) - MOST_MESSAGES
        pieces.append(_Piece("message", f"{more} more messages are left out", left_out=True))
    return pieces


def _message(source: Source, one: Written) -> _Piece:
    lines = []
    if one.heard:
        lines.append(f"The reader had said last: {cut(one.heard[-1], _HEARD_CHARS)}\n")
    if one.subject:
        lines.append(f"Subject: {cut(one.subject, _HEARD_CHARS)}\n")
    title = f"A message of the agent: {_on_one_line(f'{_plain(source)}, {one.name}')}"
    lost = len(one.text) > MESSAGE_CHARS or len(one.subject or "") > _HEARD_CHARS
    text = "\n".join((*lines, cut(one.text, MESSAGE_CHARS)))
    return _Piece("message", title, text, left_out=lost)


def _changes(evidence: Evidence) -> _Piece:
    changes = evidence.changes
    lines = [f"{c.kind} {_on_one_line(c.path)}" for c in changes[:MOST_CHANGES]]
    if len(changes) > MOST_CHANGES:
        lines.append(f"[{len(changes) - MOST_CHANGES} more left out]")
    return _Piece("changes", f"Paths that differ from the start: {len(changes)}", "\n".join(lines))


def _screens(steps: Sequence[Step]) -> Iterator[_Piece]:
    """Yield the screens that the agent saw; of equal ones in a row only the last."""
    seen = [step for step in steps if step.observation.image is not None]
    for step, following in zip(seen, [*seen[1:], None], strict=True):
        if following is not None and _digest(step) == _digest(following):
            continue
        title = f"The screen after step {step.index}"
        yield _Piece("screenshot", title, image=step.observation.image)


def _digest(step: Step) -> tuple[object, str]:
    image = step.observation.image
    assert image is not None
    return image.shape, hashlib.sha256(image.tobytes()).hexdigest()


def _files(tree: FileTree, glob: str) -> list[_Piece]:
    paths = sorted(_matching(tree, glob))
    if not paths:
        return [_Piece("file", f"No file at the end matches {glob}")]
    pieces = [_file(tree, path) for path in paths[:MOST_FILES]]
    if len(paths) > MOST_FILES:
        more = len(paths) - MOST_FILES
        told = f"{more} more files match {glob} and are left out"
        pieces.append(_Piece("file", told, left_out=True))
    return pieces


def _matching(tree: FileTree, glob: str) -> Iterator[str]:
    """Yield the matching files; the search starts at the glob's fixed part."""
    names = glob.split("/")
    fixed = 0
    while fixed < len(names) and not any(c in names[fixed] for c in "*?["):
        fixed += 1
    top = "/".join(names[:fixed]) or "/"
    stat = tree.stat(top)
    if stat is None:
        return
    if stat.kind == "file" and fixed == len(names):
        yield top
    if stat.kind != "dir" or fixed == len(names):
        return
    for looked_at, (path, found) in enumerate(tree.walk(top)):
        if looked_at >= _LOOKED_AT:
            raise GuestFileError(f"{top}: holds more than {_LOOKED_AT} entries")
        if found.kind == "file" and path_matches(path, [glob]):
            yield path


def _file(tree: FileTree, path: str) -> _Piece:
    title = f"File at the end: {_on_one_line(path)}"
    stat = tree.stat(path)
    if stat is None or stat.kind != "file":
        return _Piece("file", f"{title} (no longer a file)")
    if stat.size > _READ_BYTES:
        return _Piece("file", f"{title} ({stat.size} bytes, too long to show)", left_out=True)
    data = tree.read(path, max_bytes=_READ_BYTES)
    odd = len(data.decode("utf-8", "replace")) - len(data.decode("utf-8", "ignore"))
    if odd > max(1, _ODD_SHARE * len(data)):
        told = f"{title} ({len(data)} bytes that are no UTF-8 text)"
        return _Piece("file", told, left_out=True)
    text = data.decode("utf-8", "backslashreplace").rstrip()
    return _cut("file", title + ("" if data else " (empty)"), text, FILE_CHARS)


def _on_one_line(path: str) -> str:
    return json.dumps(path, ensure_ascii=False)[1:-1]
