"""Check pack `office`: contents of office documents.

Channel: state (the final files, read from outside). A process with limits reads workbooks (xlsx,
xlsm), documents (docx) and presentations (pptx); it computes nothing, runs no macro and follows no
link. OpenDocument formats are not read, because no library for them is as well maintained. More
than 16 MiB is a fail.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.installation import missing_extra
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import Comparison, brief, result

_READER = Path(__file__).with_name("reader.py")
_OFFICE_BYTES = 16 * 2**20
_MOST_CELLS = 20_000
_CELL = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_STYLES: Mapping[str, type] = {
    "bold": bool,
    "italic": bool,
    "number_format": str,
    "horizontal": str,
    "fill": str,
    "colour": str,
}


def sheets(evidence: Evidence, path: str, names: Sequence[str]) -> CheckResult:
    """A workbook has these sheets, in this order, including hidden ones.

    Channel: state.

    Example:
        use = "office.sheets"
        with = { path = "/srv/report.xlsx", names = ["Summary", "Data"] }
    """
    if isinstance(names, str) or not names:
        raise VerifierError(f"names: expected a list of names, got {names!r}")
    seen = _ask(evidence, path, "openpyxl", what="sheets")
    return result(seen == list(names), f"{path}: sheets {seen[:8]}, expected {list(names)[:8]}")


def cells(
    evidence: Evidence,
    path: str,
    sheet: str,
    at: str,
    rows: Sequence[Sequence[Any]],
    tolerance: float = 0.0,
    any_order: bool = False,
) -> CheckResult:
    """The cells of a range hold these values.

    Channel: state. An empty cell is "", a date ISO 8601 text. A formula has the value that the last
    program stored; a formula that no program has computed is empty.

    Example:
        use = "office.cells"
        with = { path = "/srv/r.xlsx", sheet = "Data", at = "A2:B2", rows = [["ada", 3]] }

    Args:
        evidence: Evidence of the episode.
        path: The workbook.
        sheet: Name of the sheet.
        at: A range or one cell.
        rows: The values, row by row.
        tolerance: Largest absolute difference of two equal numbers.
        any_order: Accept the rows in any order.
    """
    compare, (wide, high) = Comparison(tolerance, any_order), _extent(at)
    if len(rows) != high or any(isinstance(row, str) or len(row) != wide for row in rows):
        raise VerifierError(f"rows: expected {high} rows of {wide} cells, as {at} has")
    seen = _ask(evidence, path, "openpyxl", what="values", sheet=sheet, at=at)
    fault = compare.difference(seen, [list(row) for row in rows])
    return result(not fault, f"{path}: {sheet}!{at}: {fault or 'as expected'}")


def formulas(evidence: Evidence, path: str, sheet: str, formulas: Mapping[str, str]) -> CheckResult:
    """Cells hold these formulas; case and spaces outside quotes do not count.

    Channel: state. A formula with an equal value but another text, ``=A1+A2`` for ``=SUM(A1:A2)``,
    is different. "" demands a cell without a formula: a value, or nothing.

    Example:
        use = "office.formulas"
        with = { path = "/srv/r.xlsx", sheet = "Data", formulas = { B4 = "=SUM(B2:B3)" } }
    """
    for cell, formula in formulas.items():
        if not _CELL.fullmatch(cell) or not isinstance(formula, str):
            raise VerifierError(f"formulas: expected text by cell, got {cell!r} = {formula!r}")
    seen = _ask(evidence, path, "openpyxl", what="formulas", sheet=sheet, at=list(formulas))
    for cell, wanted in formulas.items():
        if _plain(seen[cell]) != _plain(wanted):
            return result(
                False, f"{path}: {sheet}!{cell}: {brief(seen[cell])}, expected {wanted!r}"
            )
    return result(True, f"{path}: {len(formulas)} formulas as expected")


def style(
    evidence: Evidence, path: str, sheet: str, at: str, style: Mapping[str, Any]
) -> CheckResult:
    """Every cell of a range has these parts of a style.

    Channel: state. Colours count only if they are given as RGB, not as theme colours. Conditional
    formats are ignored.

    Example:
        use = "office.style"
        with = { path = "/srv/r.xlsx", sheet = "Data", at = "A1:B1", style = { bold = true } }

    Args:
        evidence: Evidence of the episode.
        path: The workbook.
        sheet: Name of the sheet.
        at: A range or one cell.
        style: Any of bold, italic, number_format ("0.00"), horizontal ("center"), fill and colour
            ("#rrggbb").
    """
    _extent(at)
    for name, value in style.items():
        if name not in _STYLES or not isinstance(value, _STYLES[name]):
            raise VerifierError(
                f"style.{name}: expected one of {', '.join(_STYLES)}, got {value!r}"
            )
    for cell in _ask(evidence, path, "openpyxl", what="style", sheet=sheet, at=at):
        for name, value in style.items():
            if cell[name] != (value.lower() if name in ("fill", "colour") else value):
                said = f"{name} is {cell[name]!r}, expected {value!r}"
                return result(False, f"{path}: {sheet}!{cell['cell']}: {said}")
    return result(True, f"{path}: {sheet}!{at}: style as expected")


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
    text = "\n".join(text for _, text in _ask(evidence, path, "docx", what="document"))
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
    for name, text in _ask(evidence, path, "docx", what="document"):
        found = re.fullmatch(r"title|heading ([1-9])", name.lower())
        if found:
            seen.append([int(found[1] or 0), text.strip()])
    fault = Comparison().difference(seen, [list(one) for one in headings])
    return result(not fault, f"{path}: {fault or f'the {len(seen)} headings expected'}")


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
    slides = _ask(evidence, path, "pptx", what="slides")
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
    slides = _ask(evidence, path, "pptx", what="slides")
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


def _ask(evidence: Evidence, path: str, library: str, **order: Any) -> Any:
    if importlib.util.find_spec(library) is None:
        raise missing_extra(library, "office")
    data = evidence.after.read(path, max_bytes=_OFFICE_BYTES)
    return ask(_READER, order, {"file": data}, what=path)


def _extent(at: object) -> tuple[int, int]:
    """Return the number of columns and rows of a range."""
    first, _, last = str(at).partition(":")
    begin, end = _CELL.fullmatch(first), _CELL.fullmatch(last or first)
    if begin and end:
        wide = _column(end[1]) - _column(begin[1]) + 1
        high = int(end[2]) - int(begin[2]) + 1
        if wide > 0 and high > 0 and wide * high <= _MOST_CELLS:
            return wide, high
    raise VerifierError(
        f"at: expected a range such as 'A2:C9', at most {_MOST_CELLS} cells; got {at!r}"
    )


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _plain(formula: str) -> str:
    parts = re.split(r"(\"[^\"]*\"|'[^']*')", formula)
    return "".join(p if n % 2 else "".join(p.split()).upper() for n, p in enumerate(parts))
