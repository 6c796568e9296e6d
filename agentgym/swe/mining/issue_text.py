"""Drafts the text of an issue from the text of a change, without what would give the fix away.

Lines of the patch, diffs, paths of changed files, and sentences that name what only the patch
introduces are removed. Names that the hidden tests use and the base lacks are stated at the end,
because no solution could guess them.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agentgym.swe.mining.history import MergedChange
from agentgym.swe.test_paths import is_code

_TRAILER: Final = re.compile(
    r"(?:co-authored-by|signed-off-by|reviewed-by|acked-by|tested-by|change-id|cc|reported-by):"
    r".*",
    re.IGNORECASE,
)
_NUMBER: Final = r"(?:(?:(?<![\w.-])[\w.-]++/[\w.-]+)?#|gh-)\d{1,9}"
_CLOSING: Final = re.compile(
    rf"(?:[,;]|(?<!\s))\s*+\(?"
    rf"\b(?:fix(?:e[sd])?|clos(?:es?|ed|ing)|resolv(?:es?|ed)|refs?|see|re):?\s+{_NUMBER}"
    rf"(?:\s*(?:,|and)\s*{_NUMBER})*\)?(?=\s*+[.,;]?\s*+$)|(?<!\s)\s*+\({_NUMBER}\)|https?://\S+",
    re.IGNORECASE,
)
"""A reference that says nothing of the problem: at the end of a line, or in brackets."""
_OPENING: Final = re.compile(
    rf"^\s*+(?:fix(?:e[sd])?|clos(?:es?|ed|ing)|resolv(?:es?|ed)|issue)?:?\s*+"
    rf"{_NUMBER}(?:\s*(?:,|and)\s*{_NUMBER})*\s*[:.,;–-]+\s+(?=\S)",
    re.IGNORECASE,
)
"""A reference that opens a title, such as ``Fix #218: ``."""
_MENTION: Final = re.compile(_NUMBER, re.IGNORECASE)
_HASH: Final = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
_CHORE: Final = re.compile(
    r"[*-]?\s*(?:add(?:ed|ing)?\s+(?:\w+\s+)?(?:tests?|specs?|docs?|changelog)|address"
    r"|appl(?:y|ied) suggestion|blacken|bump|change(?:d|log)?\b|clean|doc"
    r"|fix(?:ed)? (?:typo|lint|tests?|format)|fixup|format|handle and test|just|lint|merge"
    r"|move|pep ?8|py\d|readab|refactor|remove|rename|reorder|revert|run |simplif|todo|ugl"
    r"|update|use |version|wip|test)",
    re.IGNORECASE,
)
"""A line of a squashed commit that tells of the work rather than of the problem."""
_KIND: Final = re.compile(
    r"^(?:\[[^\]]{1,30}\]|[a-z]{2,10}(?:\([^)]{1,40}\))?!?:)\s*", re.IGNORECASE
)
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_DIFF: Final = re.compile(r"^(?:diff --git|index [0-9a-f]|@@ |\+\+\+ |--- |[+-]\s*\S).*")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_DEFINED: Final = re.compile(
    r"\b(?:def|class|func|function|const|let|var|type)\s+(\w+)|\bself\.(\w+)\s*="
)
_USED: Final = re.compile(r"\.(\w+)|\b(\w+)\(")
_TEXT: Final = re.compile(r"\"([^\"\\\n]{8,200})\"|'([^'\\\n]{8,200})'")
_MOST_TEXTS: Final = 10
_CODE: Final = re.compile(r"`[^`]+`|\w+\(")
"""Parts of a sentence that are marked as code."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'])")
_BUILT_IN: Final = frozenset(dir(builtins))
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
    old = known | names_in(_removed_text(code_diff)) | _BUILT_IN
    introduced = names_in("\n".join(added)) - old
    tests = "\n".join(_added_lines(test_diff))
    tested = names_in(tests)
    defined = {name for found in _DEFINED.finditer("\n".join(added)) for name in found.groups()}
    used = {name for found in _USED.finditer(tests) for name in found.groups()}
    program = _of_code(code_diff)
    programmed = names_in("\n".join(_added_lines(program)))
    interface = tuple(
        sorted(
            name
            for name in introduced & tested & programmed
            if _is_identifier(name) or (name in defined and name in used)
        )
    )
    leaks = _Leaks(
        lines=frozenset(_folded(line) for line in added if len(_folded(line)) >= _LEAST_LINE),
        names=frozenset(name for name in introduced - tested if _is_identifier(name)),
        words=frozenset(
            name for name in introduced - tested if name in defined and not _is_identifier(name)
        ),
        paths=frozenset(_paths(code_diff)),
    )
    removed: list[str] = []
    title, _, body = source.strip().partition("\n")
    kept: dict[str, str] = {}
    for part in (*_clean_title(title, leaks, removed), *_clean_body(body, leaks, removed)):
        kept.setdefault(re.sub(r"\W+", "", part).lower(), part)
    text = "\n\n".join(kept.values())
    if len(text.split()) < _LEAST_WORDS:
        return IssueText("", tuple(removed), interface)
    if interface:
        text += "\n\nThese names are new: " + ", ".join(f"`{name}`" for name in interface) + "."
    if texts := _shared_texts(program, test_diff):
        text += "\n\nThese texts are part of it:\n" + "\n".join(f"- `{each}`" for each in texts)
    return IssueText(text, tuple(removed), interface)


def names_in(text: str) -> set[str]:
    """Return the words of a text that could be names of a program."""
    return set(_NAME.findall(text))


@dataclass(frozen=True, slots=True)
class _Leaks:
    """Parts of a patch that no sentence may hold.

    Attributes:
        lines: Its added lines.
        names: Names that it introduces.
        words: Names that it introduces and that look like English; they count as code only.
        paths: Paths and names of the files that it changes.
    """

    lines: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    paths: frozenset[str]

    def found_in(self, sentence: str) -> bool:
        """Return whether a sentence tells how the fix is made."""
        folded = _folded(sentence)
        if any(re.search(rf"(?<![\w.-]){re.escape(path)}\b", sentence) for path in self.paths):
            return True
        code = " ".join(_CODE.findall(sentence))
        if names_in(sentence) & self.names or names_in(code) & self.words:
            return True
        return any(line in folded for line in self.lines)


def _clean_title(title: str, leaks: _Leaks, removed: list[str]) -> Iterator[str]:
    plain = _KIND.sub("", _without_references(_OPENING.sub("", title))).strip(" .,;:-–…")
    if leaks.found_in(plain) or re.match(r"merge (?:branch|remote|pull)", plain, re.IGNORECASE):
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
                lines.append(_without_references(line))
        sentences = []
        for sentence in _SENTENCE.split("\n".join(lines).strip()):
            if leaks.found_in(sentence) or _CHORE.match(sentence):
                removed.append(sentence)
            elif re.search(r"\w{3}", sentence):
                sentences.append(sentence.strip())
        if sentences:
            yield " ".join(sentences)


def _without_references(line: str) -> str:
    """Return a line without numbers of issues and ids of commits."""
    plain = _MENTION.sub("another issue", _CLOSING.sub("", line))
    return _HASH.sub("an earlier change", plain).rstrip()


def _of_code(diff: str) -> str:
    """Return the parts of a diff that change code; those of documents tell no interface."""
    parts = re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE)
    return "".join(part for part in parts if any(is_code(path) for path in _paths(part)))


def _added_lines(diff: str) -> list[str]:
    return [
        line[1:] for line in diff.split("\n") if line.startswith("+") and not line.startswith("+++")
    ]


def _shared_texts(code_diff: str, test_diff: str) -> list[str]:
    """Return the texts of several words that both the code and its tests add.

    They are messages and the like, which no solution could guess.
    """

    def texts(diff: str) -> dict[str, None]:
        found = _TEXT.finditer("\n".join(_added_lines(diff)))
        return {text: None for match in found for text in match.groups() if text and " " in text}

    old = _removed_text(code_diff)
    tested = texts(test_diff)
    shared = [text for text in texts(code_diff) if text in tested and text not in old]
    return shared[:_MOST_TEXTS]


def _removed_text(diff: str) -> str:
    """Return the lines of a diff that the base has."""
    return "\n".join(
        line[1:] for line in diff.split("\n") if line[:1] in "- " and not line.startswith("---")
    )


def _paths(diff: str) -> Iterator[str]:
    for line in diff.split("\n"):
        if line.startswith("+++ b/") or line.startswith("--- a/"):
            path = line[6:].strip()
            yield path
            yield path.rpartition("/")[2]


def _folded(text: str) -> str:
    return re.sub(r"[\s`'\"]+", " ", text).strip()


def _is_identifier(name: str) -> bool:
    """Return whether a word is a name rather than a word of English."""
    return (
        "_" in name.strip("_")
        or any(c.isupper() for c in name[1:])
        or any(c.isdigit() for c in name)
    )
