"""Read the agent's office documents in a separate process with limits."""

import datetime
import os
import re
import runpy

_DOCUMENTS = ("document", "tables", "changes", "weights")
_CHANGES = ("ins", "del", "moveFrom", "moveTo", "rPrChange", "pPrChange")
_MOST_CONTENTS = 200_000


def answer(order, folder):
    """Return the requested part of ``file``."""
    suffix = {**dict.fromkeys(_DOCUMENTS, "docx"), "slides": "pptx"}.get(order["what"], "xlsx")
    path = os.path.join(folder, f"file.{suffix}")
    os.rename(os.path.join(folder, "file"), path)
    if suffix == "xlsx":
        return _workbook(path, order)
    return _document(path, order["what"]) if suffix == "docx" else _slides(path)


def _workbook(path, order):
    import openpyxl

    book = openpyxl.load_workbook(path, data_only=order["what"] == "values", keep_links=False)
    if order["what"] == "sheets":
        return book.sheetnames
    if order["what"] == "contents":
        return {sheet.title: _contents(sheet) for sheet in book.worksheets}
    if order["sheet"] not in book.sheetnames:
        raise ValueError(f"there is no sheet {order['sheet']!r} but {book.sheetnames[:8]}")
    sheet = book[order["sheet"]]
    if order["what"] == "charts":
        return [_chart(chart) for chart in sheet._charts]
    if order["what"] == "formulas":
        return {at: _formula(sheet[at].value) for at in order["at"]}
    rows = list(_rows(sheet, order["at"]))
    if order["what"] == "values":
        if any(cell.value is None for row in rows for cell in row):
            return _computed(path, book, order)
        return [[_value(cell.value) for cell in row] for row in rows]
    return [_style(cell) for row in rows for cell in row]


def _computed(path, held, order):
    """Return values of cells, those of formulas that the file holds without values, too."""
    import openpyxl

    module = runpy.run_path(os.path.join(os.path.dirname(__file__), "formula_values.py"))
    book = openpyxl.load_workbook(path, keep_links=False)
    formulas = module["Formulas"](book, held)

    def value(cell):
        try:
            return _value(formulas.value(order["sheet"], cell.coordinate))
        except (ValueError, TypeError, OverflowError):
            return ""

    rows = _rows(book[order["sheet"]], order["at"])
    return [[value(cell) for cell in row] for row in rows]


def _contents(sheet):
    """Return what the cells of a sheet hold that are not empty, and how they look.

    Formulas are returned as they are written.
    """
    if sheet.max_row * sheet.max_column > _MOST_CONTENTS:
        raise ValueError(f"{sheet.title!r} has too many cells")
    cells = (cell for row in sheet.iter_rows() for cell in row)
    held = ((cell, _formula(cell.value) or _value(cell.value)) for cell in cells)
    return {cell.coordinate: (value, _look(cell)) for cell, value in held if value != ""}


def _look(cell):
    """Return what programs keep of a style: weight, slant, fill, and how a number is written.

    A fill is None if its colour is one of a theme, which a program may write as another.
    """
    is_number = _formula(cell.value) or isinstance(cell.value, (int, float))
    is_filled = cell.fill.fill_type == "solid"
    return {
        "bold": bool(cell.font.bold),
        "italic": bool(cell.font.italic),
        "fill": (_colour(cell.fill.fgColor) or None) if is_filled else "none",
        "number": _digits(cell.number_format) if is_number else "",
    }


def _digits(number_format):
    """Return the kind of a number format, and its decimals: ``1,0.00``, ``0%``, ``date``.

    Programs write the same format in several ways.
    """
    first = re.sub(r'"[^"]*"|\\.|\[[^\]]*\]|_.', "", number_format.split(";")[0])
    if re.search(r"[ymdhs]", first, re.IGNORECASE) and "General" not in first:
        return "date"
    decimals = re.search(r"\.([0#?]+)", first)
    sign = "%" if "%" in first else ""
    grouped = "1," if "," in first else ""
    return grouped + "0" + ("." + "0" * len(decimals[1]) if decimals else "") + sign


def _chart(chart):
    kind = chart.tagname.removesuffix("Chart").removesuffix("3D").lower()
    if kind == "bar" and chart.barDir == "col":
        kind = "column"
    categories = [_range(one.cat) for one in chart.series if getattr(one, "cat", None)]
    return {
        "type": kind,
        "title": _rich(chart.title),
        "series": [_range(getattr(one, "val", None) or one.yVal) for one in chart.series],
        "categories": categories[0] if categories else "",
    }


def _range(source):
    """Return the range of a series without quotes and dollars: ``Data!B2:B9``."""
    held = next((getattr(source, n, None) for n in ("numRef", "strRef", "multiLvlStrRef")), None)
    held = held or getattr(source, "strRef", None)
    return "" if held is None else held.f.replace("$", "").replace("'", "")


def _rich(title):
    if title is None or title.tx is None or title.tx.rich is None:
        return ""
    return "".join(run.t for part in title.tx.rich.p for run in part.r or ()).strip()


def _rows(sheet, at):
    from openpyxl.utils import range_boundaries

    left, top, right, bottom = range_boundaries(at)
    return sheet.iter_rows(min_row=top, max_row=bottom, min_col=left, max_col=right)


def _formula(value):
    value = getattr(value, "text", value)  # an array formula is an object
    return value if isinstance(value, str) and value.startswith("=") else ""


def _value(value):
    if value is None:
        return ""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _style(cell):
    fill = cell.fill.fgColor if cell.fill.fill_type == "solid" else None
    return {
        "cell": cell.coordinate,
        "bold": bool(cell.font.bold),
        "italic": bool(cell.font.italic),
        "number_format": cell.number_format,
        "horizontal": cell.alignment.horizontal or "general",
        "fill": _colour(fill),
        "colour": _colour(cell.font.color),
    }


def _colour(colour):
    """Return a colour that is given as RGB; themes and indexes are not resolved."""
    if colour is None or colour.type != "rgb" or not isinstance(colour.rgb, str):
        return ""
    return "#" + colour.rgb[-6:].lower()


def _slides(path):
    import pptx

    return [_slide(slide) for slide in pptx.Presentation(path).slides]


def _slide(slide):
    title = slide.shapes.title
    shapes = list(_shapes(slide.shapes))
    frames = [one for one in shapes if one.has_text_frame and one.shape_id != _id(title)]
    texts = [line.text for one in frames for line in one.text_frame.paragraphs]
    for one in shapes:
        if one.has_table:
            texts += [cell.text for row in one.table.rows for cell in row.cells]
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    return {
        "title": "" if title is None else title.text_frame.text,
        "points": [text for text in (text.strip() for text in texts) if text],
        "notes": "" if notes is None else notes.text,
        "pictures": sum(one.shape_type == 13 for one in shapes),
        "tables": sum(bool(one.has_table) for one in shapes),
        "charts": sum(bool(one.has_chart) for one in shapes),
        "hidden": slide.element.get("show") in ("0", "false"),
    }


def _id(shape):
    return None if shape is None else shape.shape_id


def _shapes(shapes):
    """Yield shapes in their order, those of groups too."""
    for one in shapes:
        if one.shape_type == 6:
            yield from _shapes(one.shapes)
        else:
            yield one


def _document(path, what):
    import docx
    from docx.oxml.ns import qn
    from docx.text.paragraph import Paragraph

    document = docx.Document(path)
    body = document.element.body
    if what == "tables":
        return [[[_cell(cell) for cell in row.cells] for row in t.rows] for t in document.tables]
    if what == "changes":
        found = (one for kind in _CHANGES for one in body.iter(qn(f"w:{kind}")))
        return [[one.get(qn("w:author")) or "", _text(one, qn)] for one in found]
    paragraphs = [Paragraph(one, document) for one in body.iter(qn("w:p"))]
    if what == "weights":
        return [[one.text, *_weights(one)] for one in paragraphs if one.text.strip()]
    return [[(one.style.name or "") if one.style else "", one.text] for one in paragraphs]


def _weights(paragraph):
    """Return whether most of a paragraph is bold, and whether most is italic."""
    return [
        2 * sum(len(run.text) for run in paragraph.runs if _has(run, paragraph.style, name))
        > len(paragraph.text)
        for name in ("bold", "italic")
    ]


def _has(run, style, name):
    """Return whether a run has a weight, of its own or from a style."""
    value, styles = getattr(run.font, name), [run.style, style]
    for one in styles:
        while value is None and one is not None:
            value, one = getattr(one.font, name), one.base_style
    return bool(value)


def _cell(cell):
    return "\n".join(one.text for one in cell.paragraphs).strip()


def _text(change, qn):
    """Return the text that a change inserts or deletes; empty for a format."""
    return "".join(one.text or "" for one in change.iter(qn("w:t"), qn("w:delText")))
