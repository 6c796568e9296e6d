"""Read the agent's office documents in a separate process with limits."""

import datetime
import os


def answer(order, folder):
    """Return the requested part of ``file``."""
    suffix = {"document": "docx", "slides": "pptx"}.get(order["what"], "xlsx")
    path = os.path.join(folder, f"file.{suffix}")
    os.rename(os.path.join(folder, "file"), path)
    if suffix == "xlsx":
        return _workbook(path, order)
    return _document(path) if suffix == "docx" else _slides(path)


def _workbook(path, order):
    import openpyxl

    book = openpyxl.load_workbook(path, data_only=order["what"] == "values", keep_links=False)
    if order["what"] == "sheets":
        return book.sheetnames
    if order["sheet"] not in book.sheetnames:
        raise ValueError(f"there is no sheet {order['sheet']!r} but {book.sheetnames[:8]}")
    sheet = book[order["sheet"]]
    if order["what"] == "formulas":
        return {at: _formula(sheet[at].value) for at in order["at"]}
    rows = list(_rows(sheet, order["at"]))
    if order["what"] == "values":
        return [[_value(cell.value) for cell in row] for row in rows]
    return [_style(cell) for row in rows for cell in row]


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


def _document(path):
    import docx
    from docx.oxml.ns import qn
    from docx.text.paragraph import Paragraph

    document = docx.Document(path)
    paragraphs = [Paragraph(one, document) for one in document.element.body.iter(qn("w:p"))]
    return [[(one.style.name or "") if one.style else "", one.text] for one in paragraphs]
