"""Checks of documents (docx)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, TypeAlias

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify.calls import pattern_of
from agentgym.verify.values import Comparison, brief, result

from .extraction import extract

_Paragraphs: TypeAlias = Sequence[tuple[str, str]]
"""Style and text of each."""
_TEXT_CHARS = 2_000
_MOST_TIMES = 20
"""Paragraphs of a document over those of the start that are aligned; more would take long."""
_PLAIN_STYLES = ("", "normal", "standard", "default paragraph style", "body text", "text body")


def paragraphs(
    evidence: Evidence, path: str, paragraphs: Sequence[Any] = (), gold: str = ""
) -> CheckResult:
    """A document consists of exactly these paragraphs, in this order, those of tables included.

    Channel: state. Empty paragraphs do not count, nor do spaces at the ends. Headers, footers,
    notes, comments and text marked as deleted are left out.

    Example:
        use = "office.paragraphs"
        with = { path = "/srv/plan.docx", paragraphs = [["Heading 1", "Plan"], "We begin in May."] }

    Args:
        evidence: Evidence of the episode.
        path: The document.
        paragraphs: Of each its text, or [style, text]; the style's case does not count.
        gold: Name of the gold file that holds them as JSON, in their place.
    """
    if bool(gold) == bool(paragraphs):
        raise VerifierError("paragraphs: expected either paragraphs or gold")
    paragraphs = json.loads(evidence.gold(gold)) if gold else paragraphs
    for one in paragraphs:
        if not isinstance(one, str) and (len(one) != 2 or not all(isinstance(x, str) for x in one)):
            raise VerifierError(f"paragraphs: expected text or [style, text], got {one!r}")
    seen = [(s, text.strip()) for s, text in extract(evidence.after, path, "docx", what="document")]
    seen = [(style, text) for style, text in seen if text]
    for place, one in enumerate(paragraphs):
        style, text = ("", one) if isinstance(one, str) else one
        if place == len(seen):
            return result(False, f"{path}: ends before {brief(text)}")
        if seen[place][1] != text:
            return result(False, f"{path}: has {brief(seen[place][1])}, expected {brief(text)}")
        if style and seen[place][0].lower() != style.lower():
            return result(False, f"{path}: {brief(text)} is {seen[place][0]!r}, expected {style!r}")
    more = seen[len(paragraphs) :]
    return result(
        not more, f"{path}: goes on with {brief(more[0][1])}" if more else f"{path}: as expected"
    )


def document_table(
    evidence: Evidence, path: str, rows: Sequence[Sequence[str]], table: int = 0
) -> CheckResult:
    """A table of a document has exactly these cells.

    Channel: state. Spaces at the ends of a cell do not count.

    Example:
        use = "office.document_table"
        with = { path = "/srv/offer.docx", rows = [["Item", "Price"], ["Desk", "240.00"]] }

    Args:
        evidence: Evidence of the episode.
        path: The document.
        rows: The cells, row by row.
        table: Number of the table from 0; tables within tables are not counted.
    """
    if not isinstance(table, int) or any(isinstance(row, str) for row in rows):
        raise VerifierError("document_table: expected a number and rows of cells")
    seen = extract(evidence.after, path, "docx", what="tables")
    if table >= len(seen):
        return result(False, f"{path}: has {len(seen)} tables, expected one more")
    fault = Comparison().difference(seen[table], [list(row) for row in rows])
    return result(not fault, f"{path}: {fault or 'the table is as expected'}")


def tracked_changes(
    evidence: Evidence, path: str, changes: Sequence[Sequence[str]] = ()
) -> CheckResult:
    """The changes that a document still records are these, in any order; none by default.

    Channel: state. Insertions, deletions, moves and changed formats are changes.

    Example:
        use = "office.tracked_changes"
        with = { path = "/srv/contract.docx", changes = [["Ada Quist", "30 days"]] }

    Args:
        evidence: Evidence of the episode.
        path: The document.
        changes: Author and text of each.
    """
    for one in changes:
        if isinstance(one, str) or len(one) != 2:
            raise VerifierError(f"changes: expected [author, text], got {one!r}")
    seen = extract(evidence.after, path, "docx", what="changes")
    fault = Comparison(any_order=True).difference(seen, [list(one) for one in changes])
    told = f"{brief(seen[0][1])} by {seen[0][0]}" if seen else "none"
    return result(not fault, f"{path}: {len(seen)} changes are recorded, the first {told}")


def document_text(
    evidence: Evidence, path: str, contains: Sequence[str] = (), lacks: Sequence[str] = ()
) -> CheckResult:
    """The text of a document contains these pieces, in this order, and none of the forbidden ones.

    Channel: state. Paragraphs of the body, including those in tables, are joined by line feeds.
    Headers, footers, notes, comments and text marked as deleted are left out.

    Example:
        use = "office.document_text"
        with = { path = "/srv/letter.docx", contains = ["Dear Ada"], lacks = ["TODO"] }

    Args:
        evidence: Evidence of the episode.
        path: The document.
        contains: Demanded pieces, each after the one before it.
        lacks: Forbidden pieces.
    """
    if isinstance(contains, str) or isinstance(lacks, str) or not (contains or lacks):
        raise VerifierError("document_text: expected lists, contains, lacks or both")
    text = "\n".join(text for _, text in extract(evidence.after, path, "docx", what="document"))
    at = 0
    for piece in contains:
        found = text.find(piece, at)
        if found < 0:
            return result(False, f"{path}: {brief(piece)} is not there, or not in its place")
        at = found + len(piece)
    present = [piece for piece in lacks if piece in text]
    return result(not present, f"{path}: holds {brief(present[0])}" if present else f"{path}: fits")


def headings(evidence: Evidence, path: str, headings: Sequence[Sequence[Any]]) -> CheckResult:
    """The headings of a document are these, with level and text.

    Channel: state. A heading is a paragraph in the style "Heading 1" to "Heading 9", or "Title",
    which is level 0. A paragraph that is only large and bold is not a heading.

    Example:
        use = "office.headings"
        with = { path = "/srv/plan.docx", headings = [[0, "Plan"], [1, "Goals"], [1, "Costs"]] }
    """
    for one in headings:
        if isinstance(one, str) or len(one) != 2 or not isinstance(one[0], int):
            raise VerifierError(f"headings: expected [level, text], got {one!r}")
    seen = []
    for name, text in extract(evidence.after, path, "docx", what="document"):
        found = re.fullmatch(r"title|heading ([1-9])", name.lower())
        if found:
            seen.append([int(found[1] or 0), text.strip()])
    fault = Comparison().difference(seen, [list(one) for one in headings])
    return result(not fault, f"{path}: {fault or f'the {len(seen)} headings expected'}")


def styles_kept(evidence: Evidence, path: str, but: Sequence[str] = ()) -> CheckResult:
    """The paragraphs of a document have the styles of the start, but for some.

    Channel: state. Paragraphs are compared in their order, whatever their text is now: all of them
    if there are as many as at the start, or else those with text. None of these may be gone; new
    ones, and what was empty, may have any style. The usual names of plain text count as one style.

    Example:
        use = "office.styles_kept"
        with = { path = "/srv/plan.docx", but = ["Goals", "Costs"] }

    Args:
        evidence: Evidence of the episode.
        path: The document.
        but: Texts at the start of paragraphs that may have any style; regular expressions, which
            have to match the whole text.
    """
    if isinstance(but, str):
        raise VerifierError(f"but: expected a list of texts, got {but!r}")
    free = [pattern_of("but", one) for one in but]
    before, after = (
        [(style, text.strip()) for style, text in found]
        for found in (
            extract(tree, path, "docx", what="document")
            for tree in (evidence.before, evidence.after)
        )
    )
    if len(before) != len(after):
        before, after = ([one for one in found if one[1]] for found in (before, after))
    for old, new in _aligned(before, after):
        if len(old) != len(new):
            said = f"{len(new)} paragraphs in place of {brief([text for _, text in old])}"
            return result(False, f"{path}: {said}")
        for (was, text), (now, _) in zip(old, new, strict=True):
            if not text or any(one.fullmatch(text[:_TEXT_CHARS]) for one in free):
                continue
            if _style_name(was) != _style_name(now):
                return result(False, f"{path}: {brief(text)} is {now!r}, was {was!r}")
    return result(True, f"{path}: the other paragraphs have their styles")


def weights_kept(
    evidence: Evidence, path: str, source: str = "", but: Sequence[str] = ()
) -> CheckResult:
    """The paragraphs of a document are bold and italic as they were at the start, but for some.

    Channel: state. What most of a paragraph is counts, from its style or its own. Paragraphs with
    text are compared in their order; if there are more or fewer than at the start, only those with
    the same text.

    Example:
        use = "office.weights_kept"
        with = { path = "/srv/letter.docx", source = "/srv/template.docx" }

    Args:
        evidence: Evidence of the episode.
        path: The document.
        source: The document of the start, if it is another one.
        but: Texts of paragraphs that may have any weight; regular expressions, which have to match
            the whole text.
    """
    if isinstance(but, str):
        raise VerifierError(f"but: expected a list of texts, got {but!r}")
    free = [pattern_of("but", one) for one in but]
    before = extract(evidence.before, source or path, "docx", what="weights")
    after = extract(evidence.after, path, "docx", what="weights")
    if len(before) == len(after):
        pairs = list(zip(before, after, strict=True))
    else:
        known = {text.strip(): [text, *weights] for text, *weights in before}
        pairs = [(known[one[0].strip()], one) for one in after if one[0].strip() in known]
    for (_, *was), (text, *now) in pairs:
        if was == now or any(one.fullmatch(text.strip()[:_TEXT_CHARS]) for one in free):
            continue
        said = "bold" if was[0] != now[0] else "italic"
        return result(False, f"{path}: {brief(text)} is {said} only at the start, or only now")
    return result(True, f"{path}: the paragraphs have their weights")


def _aligned(before: _Paragraphs, after: _Paragraphs) -> Iterator[tuple[_Paragraphs, _Paragraphs]]:
    """Yield the paragraphs of the start beside those in their places; new ones are left out."""
    if len(before) == len(after) or len(after) > _MOST_TIMES * len(before):
        yield before, after
        return
    texts = ([text for _, text in found] for found in (before, after))
    for kind, i, to_i, j, to_j in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if kind != "insert":
            yield before[i:to_i], after[j:to_j]


def _style_name(style: str) -> str:
    name = style.lower()
    return "" if name in _PLAIN_STYLES else name
