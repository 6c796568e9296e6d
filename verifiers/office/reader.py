"""Read the agent's office documents in a separate process with limits."""

import datetime
import os


def answer(order, folder):
    """Return the requested part of ``file``."""
    path = os.path.join(folder, "file.docx" if order["what"] == "document" else "file.xlsx")
    os.rename(os.path.join(folder, "file"), path)
    return _document(path) if order["what"] == "document" else _workbook(path, order)


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


def _document(path):
    import docx
    from docx.oxml.ns import qn
    from docx.text.paragraph import Paragraph

    document = docx.Document(path)
    paragraphs = [Paragraph(one, document) for one in document.element.body.iter(qn("w:p"))]
    return [[(one.style.name or "") if one.style else "", one.text] for one in paragraphs]
