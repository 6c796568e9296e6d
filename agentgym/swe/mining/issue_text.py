"""Drafts the text of an issue from the text of a change, without what would give the fix away.

Lines of the patch, diffs, paths of changed files, and sentences that name what only the patch
introduces are removed. Names that the hidden tests use and the base lacks are stated at the end,
because no solution could guess them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentgym.swe.mining.history import MergedChange

_TRAILER: Final = re.compile(
    r"(?:co-authored-by|signed-off-by|reviewed-by|acked-by|tested-by|change-id|cc|reported-by):"
    r".*",
    re.IGNORECASE,
)
_REFERENCE: Final = re.compile(
    r"\(?\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|see|re)?:?\s*(?:[\w.-]+/[\w.-]+)?#\d+\)?"
    r"|\bgh-\d+|https?://\S+|\b[0-9a-f]{12,40}\b",
    re.IGNORECASE,
)
_KIND: Final = re.compile(
    r"^(?:\[[^\]]{1,30}\]|[a-z]{2,10}(?:\([^)]{1,40}\))?!?:)\s*", re.IGNORECASE
)
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_DIFF: Final = re.compile(r"^(?:diff --git|index [0-9a-f]|@@ |\+\+\+ |--- |[+-]\s*\S).*")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'])")
_LEAST_WORDS: Final = 4
_LEAST_LINE: Final = 12
"""Characters of a line of the patch from which a sentence that repeats it is a leak."""


@dataclass(frozen=True, slots=True)
class IssueText:
    """A drafted issue.

    Attributes:
        text: The text; empty if too little is left.
        removed: Parts of the source that were removed because they give the fix away.
        interface: Names that the tests use and that the base lacks.
    """

    text: str
    removed: tuple[str, ...] = ()
    interface: tuple[str, ...] = ()


def draft_issue(
    change: MergedChange, code_diff: str, test_diff: str, known: frozenset[str]
) -> IssueText:
    """Return the issue of a change.

    Args:
        change: The change with its text.
        code_diff: The gold patch.
        test_diff: The patch of the tests.
        known: Names that the code of the base has.
    """
    return clean_issue(f"{change.subject}\n\n{change.body}", code_diff, test_diff, known)


def clean_issue(source: str, code_diff: str, test_diff: str, known: frozenset[str]) -> IssueText:
    """Return a text as an issue, without what gives the fix away. See `draft_issue`."""
    added = _added_lines(code_diff)
    introduced = names_in("\n".join(added)) - known - names_in(_removed_text(code_diff))
    tested = names_in("\n".join(_added_lines(test_diff)))
    interface = tuple(sorted(name for name in introduced & tested if _is_identifier(name)))
    leaks = _Leaks(
        lines=frozenset(_folded(line) for line in added if len(_folded(line)) >= _LEAST_LINE),
        names=frozenset(name for name in introduced - tested if _is_identifier(name)),
        paths=frozenset(_paths(code_diff)),
    )
    removed: list[str] = []
    title, _, body = source.strip().partition("\n")
    kept = [*_clean_title(title, leaks, removed), *_clean_body(body, leaks, removed)]
    text = "\n\n".join(part for part in kept if part)
    if len(text.split()) < _LEAST_WORDS:
        return IssueText("", tuple(removed), interface)
    if interface:
        text += "\n\nThe tests use these new names: " + ", ".join(f"`{n}`" for n in interface) + "."
    return IssueText(text, tuple(removed), interface)


def names_in(text: str) -> set[str]:
    """Return the words of a text that could be names of a program."""
    return set(_NAME.findall(text))


@dataclass(frozen=True, slots=True)
class _Leaks:
    lines: frozenset[str]
    names: frozenset[str]
    paths: frozenset[str]

    def found_in(self, sentence: str) -> bool:
        """Return whether a sentence tells how the fix is made."""
        folded = _folded(sentence)
        if any(path in sentence for path in self.paths):
            return True
        return bool(names_in(sentence) & self.names) or any(line in folded for line in self.lines)


def _clean_title(title: str, leaks: _Leaks, removed: list[str]) -> Iterator[str]:
    plain = _KIND.sub("", _REFERENCE.sub("", title)).strip(" .:-–")
    if leaks.found_in(plain):
        removed.append(title)
    elif plain:
        yield plain[0].upper() + plain[1:]


def _clean_body(body: str, leaks: _Leaks, removed: list[str]) -> Iterator[str]:
    def without(fence: re.Match[str]) -> str:
        if leaks.found_in(fence[0]) or "diff" in fence[0][:8]:
            removed.append(fence[0])
            return ""
        return fence[0]

    body = _FENCE.sub(without, body.replace("\r", ""))
    for paragraph in re.split(r"\n\s*\n", body):
        lines = []
        for line in paragraph.split("\n"):
            if _DIFF.match(line) and not re.match(r"[-*] \w", line):
                removed.append(line)
            elif not _TRAILER.fullmatch(line.strip()):
                lines.append(_REFERENCE.sub("", line).rstrip())
        sentences = []
        for sentence in _SENTENCE.split("\n".join(lines).strip()):
            if leaks.found_in(sentence):
                removed.append(sentence)
            elif re.search(r"\w{3}", sentence):
                sentences.append(sentence.strip())
        if sentences:
            yield " ".join(sentences)


def _added_lines(diff: str) -> list[str]:
    return [
        line[1:] for line in diff.split("\n") if line.startswith("+") and not line.startswith("+++")
    ]


def _removed_text(diff: str) -> str:
    """Return the lines of a diff that the base has."""
    return "\n".join(
        line[1:] for line in diff.split("\n") if line[:1] in "- " and not line.startswith("---")
    )


def _paths(diff: str) -> Iterator[str]:
    for line in diff.split("\n"):
        if line.startswith("+++ b/") or line.startswith("--- a/"):
            yield line[6:].strip()


def _folded(text: str) -> str:
    return re.sub(r"[\s`'\"]+", " ", text).strip()


def _is_identifier(name: str) -> bool:
    """Return whether a word is a name rather than a word of English."""
    return (
        "_" in name.strip("_")
        or any(c.isupper() for c in name[1:])
        or any(c.isdigit() for c in name)
    )
