"""Check pack `office`: contents of office documents.

Channel: state (the final files, read from outside). A process with limits reads workbooks (xlsx,
xlsm), documents (docx) and presentations (pptx); it computes nothing, runs no macro and follows no
link. OpenDocument formats are not read, because no library for them is as well maintained. More
than 16 MiB is a fail.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, TypeAlias

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.installation import missing_extra
from agentgym.verify.calls import pattern_of
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import Comparison, brief, is_number, result

_Paragraphs: TypeAlias = Sequence[tuple[str, str]]
"""Style and text of each."""

_READER = Path(__file__).with_name("reader.py")
_OFFICE_BYTES = 16 * 2**20
_MOST_CELLS = 20_000
_NEAR = 1e-12
_EMPTY: tuple[Any, dict[str, Any]] = ("", {})
"""Contents and style of an empty cell."""
_CELL = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})")
_TEXT_CHARS = 2_000
_MOST_TIMES = 20
"""Paragraphs of a document over those of the start that are aligned; more would take long."""
_PLAIN_STYLES = ("", "normal", "standard", "default paragraph style", "body text", "text body")
_CHART = ("type", "title", "series", "categories")
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
    rows: Sequence[Sequence[Any]] = (),
    tolerance: float = 0.0,
    any_order: bool = False,
    gold: str = "",
) -> CheckResult:
    """The cells of a range hold these values.

    Channel: state. An empty cell is "", a date ISO 8601 text. A formula has the value that the last
    program stored. If none is stored, arithmetic and common functions such as SUM are computed; any
    other formula is empty then.

    Example:
        use = "office.cells"
        with = { path = "/srv/r.xlsx", sheet = "Data", at = "A2:B2", rows = [["ada", 3]] }

    Args:
        evidence: Evidence of the episode.
        path: The workbook.
        sheet: Name of the sheet.
        at: A range or one cell.
        rows: The values, row by row; or leave them out and name a gold file.
        tolerance: Largest absolute difference of two equal numbers.
        any_order: Accept the rows in any order.
        gold: Name of the gold file that holds the rows as JSON.
    """
    compare, (wide, high) = Comparison(tolerance, any_order), _extent(at)
    if bool(gold) == bool(rows):
        raise VerifierError("cells: expected either rows or gold")
    rows = json.loads(evidence.gold(gold)) if gold else rows
    if len(rows) != high or any(isinstance(row, str) or len(row) != wide for row in rows):
        raise VerifierError(f"rows: expected {high} rows of {wide} cells, as {at} has")
    seen = _ask(evidence, path, "openpyxl", what="values", sheet=sheet, at=at)
    fault = compare.difference(seen, [list(row) for row in rows])
    return result(not fault, f"{path}: {sheet}!{at}: {fault or 'as expected'}")


def formulas(
    evidence: Evidence, path: str, sheet: str, formulas: Mapping[str, str | Sequence[str]]
) -> CheckResult:
    """Cells hold these formulas; case, spaces and ``$`` outside quotes do not count.

    Channel: state. A formula with an equal value but another text, ``=A1+A2`` for ``=SUM(A1:A2)``,
    is different. "" demands a cell without a formula: a value, or nothing. A list demands one of
    several formulas.

    Example:
        use = "office.formulas"
        with = { path = "/srv/r.xlsx", sheet = "Data", formulas = { B4 = "=SUM(B2:B3)" } }
    """
    wanted = {cell: [one] if isinstance(one, str) else list(one) for cell, one in formulas.items()}
    for cell, texts in wanted.items():
        if not _CELL.fullmatch(cell) or not all(isinstance(text, str) for text in texts):
            raise VerifierError(f"formulas: expected text by cell, got {cell!r} = {texts!r}")
    seen = _ask(evidence, path, "openpyxl", what="formulas", sheet=sheet, at=list(wanted))
    for cell, texts in wanted.items():
        if _unpinned(seen[cell]) not in map(_unpinned, texts):
            said = f"{brief(seen[cell])}, expected {' or '.join(map(repr, texts))}"
            return result(False, f"{path}: {sheet}!{cell}: {said}")
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


def rest_kept(
    evidence: Evidence,
    path: str,
    but: Mapping[str, Sequence[str]],
    styled: Mapping[str, Sequence[str]] = {},
) -> CheckResult:
    """A workbook has the sheets of the start, and their cells are what they were, but for ranges.

    Channel: state. Formulas are compared as they are written, other cells by value. A cell that is
    not empty also has to stay bold, italic and filled as it was, and a number to show as many
    decimals; other styles do not count. New sheets must be named in `but`.

    Example:
        use = "office.rest_kept"
        with = { path = "/srv/r.xlsx", but = { Data = ["C2:C9", "E1"] } }

    Args:
        evidence: Evidence of the episode.
        path: The workbook.
        but: By the name of a sheet, the ranges that may hold anything.
        styled: Likewise, further ranges that may have any style.
    """
    for option, given in (("but", but), ("styled", styled)):
        for name, ranges in given.items():
            if isinstance(ranges, str):
                raise VerifierError(f"{option}.{name}: expected a list of ranges, got {ranges!r}")
            for one in ranges:
                _extent(one)
    before, after = (
        _ask_about(tree.read(path, max_bytes=_OFFICE_BYTES), path, "openpyxl", what="contents")
        for tree in (evidence.before, evidence.after)
    )
    if [n for n in after if n in before or n not in but] != [n for n in before if n in after]:
        return result(False, f"{path}: sheets {list(after)[:8]}, at the start {list(before)[:8]}")
    if gone := [name for name in before if name not in after]:
        return result(False, f"{path}: there is no sheet {gone[0]!r} any more")
    for name, cells_before in before.items():
        free = [_corners(one) for one in but.get(name, ())]
        styles_free = [_corners(one) for one in styled.get(name, ())]
        for cell in {**cells_before, **after[name]}:
            if any(_lies_in(cell, corners) for corners in free):
                continue
            was, now = cells_before.get(cell, _EMPTY), after[name].get(cell, _EMPTY)
            fault = "" if _alike(was[0], now[0]) else f"holds {brief(now[0])}, held {brief(was[0])}"
            if not any(_lies_in(cell, corners) for corners in styles_free):
                fault = fault or _restyled(was[1], now[1])
            if fault:
                return result(False, f"{path}: {name}!{cell}: {fault}")
    return result(True, f"{path}: everything else is as it was")


def charts(
    evidence: Evidence, path: str, sheet: str, charts: Sequence[Mapping[str, Any]]
) -> CheckResult:
    """A sheet has these charts and no others, in any order.

    Channel: state. Where a chart lies and how large it is does not count, nor do colours.

    Example:
        use = "office.charts"
        with = { path = "/srv/r.xlsx", sheet = "Data", charts = [{ type = "column" }] }

    Args:
        evidence: Evidence of the episode.
        path: The workbook.
        sheet: Name of the sheet.
        charts: The parts that are demanded of each: type (column, bar, line, pie, area, scatter),
            title, series and categories (ranges such as "Data!B2:B9", a list for series).
    """
    for one in charts:
        if odd := [name for name in one if name not in _CHART]:
            raise VerifierError(f"charts: expected parts of {', '.join(_CHART)}, got {odd[0]!r}")
    seen = _ask(evidence, path, "openpyxl", what="charts", sheet=sheet)
    if len(seen) != len(charts):
        return result(False, f"{path}: {sheet} has {len(seen)} charts, expected {len(charts)}")
    left = list(seen)
    for wanted in charts:
        fitting = [one for one in left if all(one[part] == wanted[part] for part in wanted)]
        if not fitting:
            told = "; ".join(f"{part} {brief(left[0][part])}" for part in wanted)
            return result(False, f"{path}: {sheet}: no chart as expected; one has {told}")
        left.remove(fitting[0])
    return result(True, f"{path}: {sheet}: {len(seen)} charts as expected")


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
    seen = [(s, text.strip()) for s, text in _ask(evidence, path, "docx", what="document")]
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
    seen = _ask(evidence, path, "docx", what="tables")
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
    seen = _ask(evidence, path, "docx", what="changes")
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
            _ask_about(tree.read(path, max_bytes=_OFFICE_BYTES), path, "docx", what="document")
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
    data = evidence.before.read(source or path, max_bytes=_OFFICE_BYTES)
    before = _ask_about(data, source or path, "docx", what="weights")
    after = _ask(evidence, path, "docx", what="weights")
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


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _ask(evidence: Evidence, path: str, library: str, **order: Any) -> Any:
    return _ask_about(evidence.after.read(path, max_bytes=_OFFICE_BYTES), path, library, **order)


def _ask_about(data: bytes, path: str, library: str, **order: Any) -> Any:
    if importlib.util.find_spec(library) is None:
        raise missing_extra(library, "office")
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


def _corners(at: str) -> tuple[int, int, int, int]:
    """Return first column, first row, last column and last row of a valid range."""
    first, _, last = at.partition(":")
    (left, top), (right, bottom) = _place(first), _place(last or first)
    return left, top, right, bottom


def _place(cell: str) -> tuple[int, int]:
    found = _CELL.fullmatch(cell)
    assert found is not None, "a reader names cells so"
    return _column(found[1]), int(found[2])


def _lies_in(cell: str, corners: tuple[int, int, int, int]) -> bool:
    left, top, right, bottom = corners
    column, row = _place(cell)
    return left <= column <= right and top <= row <= bottom


def _alike(was: Any, now: Any) -> bool:
    if isinstance(was, str) and isinstance(now, str) and was.startswith("="):
        return _plain(was) == _plain(now)
    # A program may write the last digit of a number otherwise.
    return not Comparison(_NEAR * abs(was) if is_number(was) else 0).difference(now, was)


def _restyled(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return which part of the style of a cell is another one; empty if none is."""
    for part in was.keys() & now.keys():
        if None not in (was[part], now[part]) and was[part] != now[part]:
            return f"{part} is {brief(now[part])}, was {brief(was[part])}"
    return ""


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _plain(formula: str) -> str:
    parts = re.split(r"(\"[^\"]*\"|'[^']*')", formula)
    return "".join(p if n % 2 else "".join(p.split()).upper() for n, p in enumerate(parts))


def _unpinned(formula: str) -> str:
    """Return a formula in plain form without the ``$`` of its references."""
    parts = re.split(r"(\"[^\"]*\"|'[^']*')", _plain(formula))
    return "".join(p if n % 2 else p.replace("$", "") for n, p in enumerate(parts))
