"""Finds what a fix takes away and does not own: documents, configuration, and the history."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Sequence

from agentgym.comparison import BudgetSpentError, Matcher
from agentgym.protocols import FileTree
from agentgym.swe.patch import Entry, FileChange, Patch

_DOCUMENT = re.compile(r"\.(md|rst)$|^(LICENSE|COPYING|NOTICE|AUTHORS)$", re.IGNORECASE)
_CONFIGURATION = re.compile(r"^(pyproject\.toml|setup\.cfg|tox\.ini|\.git(ignore|attributes))$")
_CHANGELOG = re.compile(r"change|history|news", re.IGNORECASE)
_ROW = re.compile(r"^\|[ \t]*`?([\w./-]+\.\w+)`?[ \t]*\|", re.MULTILINE)
_MOST_SHRUNK = 0.1
"""Largest share of its words that a document may lose."""
_MOST_WORDS = 15
"""Largest number of words that a document may lose."""
_MOST_REPLACED = 2
"""Largest number of words that may be taken out of a document which is right."""


def lost_words(patch: Patch) -> dict[str, str]:
    """Return what a patch takes away from documents and configuration, a line for each path.

    A changelog keeps what it says of earlier versions. Another document may be written anew in
    places, but a part of it is not cut off. Configuration is not deleted or emptied.
    """
    return {change.path: lost for change in patch.changes if (lost := _lost_words(change))}


def lost_statements(patch: Patch, documents: Collection[str]) -> list[str]:
    """Return a line for each of some documents in which a patch replaces what it said.

    It may be wrapped anew and continued. Words count in their order, so that a statement cannot be
    turned round with the words of others. In a table of files, the row of a file that the patch
    changes may say something else, and goes with the file.
    """
    found = []
    changed = {change.path: change.after is not None for change in patch.changes}
    for change in patch.only(lambda path: path in documents).changes:
        rows = _rows(change.after)
        free = {path for path, stays in changed.items() if path in rows or not stays}
        old, new = _sequence(change.before, free), _sequence(change.after, free)
        try:
            codes = Matcher(old, new).get_opcodes()
        except BudgetSpentError:
            found.append(f"{change.path} is too large to be compared")
            continue
        gone = [old[first:last] for tag, first, last, _, _ in codes if tag in ("delete", "replace")]
        if sum(map(len, gone)) > _MOST_REPLACED:
            said = max((" ".join(words) for words in gone), key=len)
            found.append(f"{change.path} is right, and lacks what it said before: {said[:80]!r}")
    return found


def lost_history(base: FileTree, after: FileTree, root: str) -> list[str]:
    """Return a line if the history of a repository is gone: commits may be added and packed."""
    git = f"{root}/.git"
    if base.stat(f"{git}/HEAD", follow=False) is None:
        return []
    objects = _files(after, f"{git}/objects")
    if after.stat(f"{git}/HEAD", follow=False) is not None:
        if any(path.endswith(".pack") for path in objects):
            return []
        if _files(base, f"{git}/objects") <= objects:
            return []
    return ["the history of the repository (.git) is gone"]


def is_changelog(path: str) -> bool:
    """Return whether a file tells what changed from version to version."""
    return _CHANGELOG.match(posixpath.basename(path)) is not None


def new_text(change: FileChange) -> str:
    """Return the lines with words that a file did not have before."""
    before = set(_lines(change.before))
    return b"\n".join(line for line in _lines(change.after) if line not in before).decode(
        "utf-8", "replace"
    )


def _files(tree: FileTree, top: str) -> set[str]:
    stat = tree.stat(top, follow=False)
    return (
        {path for path, _ in tree.walk(top)} if stat is not None and stat.kind == "dir" else set()
    )


def _lost_words(change: FileChange) -> str:
    """Return what a change takes away from a file, or nothing.

    Paragraphs may be wrapped anew and sentences may be continued, so words are compared, without
    the marks around them. Headings of a changelog may get another text, but keep their numbers:
    those of versions and days.
    """
    name = posixpath.basename(change.path)
    is_document = _DOCUMENT.search(name) is not None
    if change.before is None or not (is_document or _CONFIGURATION.search(name)):
        return ""
    old, new = _lines(change.before), _words(_lines(change.after))
    words = _words(old)
    if (words - new).total() * 2 > words.total():
        return f"most of {change.path} is gone"
    if not is_changelog(name):
        least = words.total() - min(_MOST_WORDS, words.total() * _MOST_SHRUNK)
        is_cut = is_document and new.total() < least
        return f"a part of {change.path} is gone" if is_cut else ""
    told = _words([line for line in old if not line.startswith(b"#")])
    dated = _numbers([line for line in old if line.startswith(b"#")])
    lost = (told + dated) - (new + _numbers(_lines(change.after)))
    return f"{change.path} lacks what it said before: {' '.join(lost)[:80]!r}" if lost else ""


def _lines(entry: Entry | None) -> list[bytes]:
    lines = entry.data.split(b"\n") if entry else []
    return [line.strip() for line in lines if re.search(rb"[^\W\d_]|^#.*\d", line)]


def _sequence(entry: Entry | None, free: Collection[str]) -> list[str]:
    """Return the words of a document, without those of rows about given files."""
    lines = entry.data.decode("utf-8", "replace").split("\n") if entry else []
    told = [line for line in lines if not ((row := _ROW.match(line)) and row[1] in free)]
    return re.findall(r"\w+", "\n".join(told))


def _rows(entry: Entry | None) -> set[str]:
    """Return the files that have a row in a table of a document."""
    return set(_ROW.findall(entry.data.decode("utf-8", "replace"))) if entry else set()


def _words(lines: Sequence[bytes]) -> Counter[str]:
    return Counter(re.findall(r"\w+", b"\n".join(lines).decode("utf-8", "replace")))


def _numbers(lines: Sequence[bytes]) -> Counter[str]:
    """Count the versions and days in headings."""
    found = re.findall(rb"\d+(?:[.-]\d+)+", b"\n".join(lines))
    return Counter(each.decode() for each in found)
