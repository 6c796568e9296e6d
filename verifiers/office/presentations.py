"""Checks of presentations (pptx)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify.values import Comparison, brief, result

from .extraction import extract


def slide_titles(evidence: Evidence, path: str, titles: Sequence[str]) -> CheckResult:
    """A presentation has slides with these titles, in this order, and no other slides.

    Channel: state. White space does not count, and a hidden slide counts like another. A title is
    what the slide's layout calls so: a large text in a box of its own is not one.

    Example:
        use = "office.slide_titles"
        with = { path = "/srv/talk.pptx", titles = ["Results", "Outlook"] }
    """
    if isinstance(titles, str) or not titles:
        raise VerifierError(f"titles: expected a list of titles, got {titles!r}")
    slides = extract(evidence.after, path, "pptx", what="slides")
    seen = [_spaced(slide["title"]) for slide in slides]
    fault = Comparison().difference(seen, [_spaced(title) for title in titles])
    return result(not fault, f"{path}: {fault or f'the {len(seen)} slides expected'}")


def slide(
    evidence: Evidence,
    path: str,
    title: str,
    points: Sequence[str] | None = None,
    contains: Sequence[str] = (),
    lacks: Sequence[str] = (),
    notes: Sequence[str] = (),
    counts: Mapping[str, int] | None = None,
    hidden: bool = False,
) -> CheckResult:
    """The only slide of a presentation with this title has this content.

    Channel: state. White space does not count. Texts are those beside the title, paragraph by
    paragraph, then the cells of tables.

    Example:
        use = "office.slide"
        with = { path = "/srv/talk.pptx", title = "Results", points = ["Sales: 41", "Staff: 7"] }

    Args:
        evidence: Evidence of the episode.
        path: The presentation.
        title: Title of the slide.
        points: All texts of the slide, in their order; absent: any.
        contains: Pieces that some text of the slide has.
        lacks: Pieces that neither a text nor the notes have.
        notes: Pieces that the speaker's notes have.
        counts: Number of "pictures", "tables" and "charts", each if it is named.
        hidden: Whether the slide is hidden.
    """
    for name, value in (("points", points or ()), ("contains", contains), ("notes", notes)):
        if isinstance(value, str):
            raise VerifierError(f"{name}: expected a list of texts, got {value!r}")
    if isinstance(lacks, str) or set(counts or {}) - {"pictures", "tables", "charts"}:
        raise VerifierError("slide: lacks is a list, counts has pictures, tables and charts")
    slides = extract(evidence.after, path, "pptx", what="slides")
    fitting = [one for one in slides if _spaced(one["title"]) == _spaced(title)]
    if len(fitting) != 1:
        return result(False, f"{path}: {len(fitting)} slides have the title {title!r}")
    seen, where = fitting[0], f"{path}: {title}"
    texts = [_spaced(text) for text in seen["points"]]
    fault = Comparison().difference(texts, [_spaced(p) for p in points]) if points else ""
    if points is not None and not points and texts:
        fault = "there are texts beside the title"
    said = _spaced(seen["notes"])
    missing = [p for p in contains if not any(_spaced(p) in text for text in texts)]
    missing += [p for p in notes if _spaced(p) not in said]
    present = [p for p in lacks if any(_spaced(p) in text for text in (*texts, said))]
    wrong = [n for n, number in (counts or {}).items() if seen[n] != number]
    if missing or present:
        fault = f"{'lacks' if missing else 'holds'} {brief((missing or present)[0])}"
    elif wrong:
        fault = f"{seen[wrong[0]]} {wrong[0]}, expected {(counts or {})[wrong[0]]}"
    elif bool(seen["hidden"]) != hidden:
        fault = "is hidden" if seen["hidden"] else "is not hidden"
    return result(not fault, f"{where}: {fault or 'as expected'}")


def _spaced(text: str) -> str:
    return " ".join(text.split())
