"""Documents and sessions for the setups of desktop tasks; equal arguments give equal bytes.

A setup calls these in the guest, where this folder is ``$AGENTGYM_SHARED``.
"""

import datetime
import json
import os
import pwd
import re
import zipfile
from pathlib import Path

HOME = Path("/home/user")
FONT = "Liberation Sans"
_MADE = datetime.datetime(2026, 1, 5, 9, 0)
_STAMP = (2026, 1, 5, 9, 0, 0)


def parameters():
    """Return the values of the task's slots by name."""
    return json.loads(os.environ["AGENTGYM_PARAMS"])


def gold(name, value):
    """Leave a value for the checks, which the agent cannot read."""
    Path(os.environ["AGENTGYM_GOLD"], name).write_text(json.dumps(value))


def finish(*commands):
    """Let commands open when the desktop starts, and give all files to the user."""
    settings = HOME / ".config/desktop"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "session").write_text("".join(f"{command}\n" for command in commands))
    person = pwd.getpwnam("user")
    for path in (HOME, *HOME.rglob("*")):
        os.chown(path, person.pw_uid, person.pw_gid, follow_symlinks=False)


# --- sheets ---


def new_workbook(*sheets):
    """Return an empty workbook with sheets of these names."""
    import openpyxl

    book = openpyxl.Workbook()
    book.properties.creator, book.properties.created = "Office", _MADE
    book.remove(book.active)
    for name in sheets:
        book.create_sheet(name)
    return book


def table(sheet, top, header, rows, formats=(), widths=()):
    """Write a table with a header, as an office has it.

    Args:
        sheet: The sheet.
        top: Row of the header.
        header: Names of the columns.
        rows: The rows; None leaves a cell empty.
        formats: Number formats of the columns, None for the general one.
        widths: Widths of the columns in characters.
    """
    from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
    from openpyxl.utils import get_column_letter

    line = Side(style="thin", color="FFB0B7BF")
    for column, name in enumerate(header, 1):
        cell = sheet.cell(top, column, name)
        cell.font = Font(name=FONT, size=10, bold=True, color="FFFFFFFF")
        cell.fill = PatternFill("solid", fgColor="FF3B5B7A")
        cell.alignment = Alignment(horizontal="left", vertical="center")
    for number, row in enumerate(rows, top + 1):
        for column, value in enumerate(row, 1):
            cell = sheet.cell(number, column, value)
            cell.font = Font(name=FONT, size=10)
            cell.border = Border(bottom=line)
            if column <= len(formats) and formats[column - 1]:
                cell.number_format = formats[column - 1]
    for column, width in enumerate(widths, 1):
        sheet.column_dimensions[get_column_letter(column)].width = width


def title(sheet, text, note=""):
    """Write a title into A1 and a note below it."""
    from openpyxl.styles import Font

    sheet["A1"] = text
    sheet["A1"].font = Font(name=FONT, size=14, bold=True)
    if note:
        sheet["A2"] = note
        sheet["A2"].font = Font(name=FONT, size=9, italic=True, color="FF606060")


def save_workbook(book, path):
    """Save a workbook."""
    _store(book, path)


# --- letters and reports ---


def new_document():
    """Return an empty document on A4, in the font of the office."""
    import docx
    from docx.shared import Cm, Pt

    document = docx.Document()
    page = document.sections[0]
    page.page_width, page.page_height = Cm(21), Cm(29.7)
    page.left_margin = page.right_margin = Cm(2.5)
    normal = document.styles["Normal"]
    normal.font.name, normal.font.size = FONT, Pt(11)
    return document


def grid(document, rows, widths=()):
    """Add a table with lines; its first row is the header. Return it."""
    from docx.shared import Cm

    made = document.add_table(rows=len(rows), cols=len(rows[0]), style="Table Grid")
    for y, row in enumerate(rows):
        for x, text in enumerate(row):
            cell = made.cell(y, x)
            cell.text = ""
            cell.paragraphs[0].add_run(text).bold = y == 0
            if x < len(widths):
                cell.width = Cm(widths[x])
    return made


def save_document(document, path):
    """Save a document."""
    _store(document, path)


def _store(made, path):
    """Save what a library has made, without the time at which it did so."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    made.save(path)
    with zipfile.ZipFile(path) as archive:
        parts = [(name, archive.read(name)) for name in archive.namelist()]
    told = _MADE.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts:
            if name == "docProps/core.xml":
                data = re.sub(rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>" + told, data)
            archive.writestr(zipfile.ZipInfo(name, _STAMP), data, zipfile.ZIP_DEFLATED)


# --- PDF ---


def pdf(path, title, head, rows, widths, foot=()):
    """Write a PDF of one table on A4, such as an invoice or a statement.

    Args:
        path: Where it is saved.
        title: Its title.
        head: Lines of text above the table.
        rows: The table, the header first; its last column is set to the right.
        widths: Widths of the columns in millimetres.
        foot: Lines of text below the table.
    """
    from reportlab.lib.colors import HexColor
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.lib.units import mm
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    styles = getSampleStyleSheet()
    lines = TableStyle(
        [
            ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9),
            ("FONT", (0, 1), (-1, -1), "Helvetica", 9),
            ("BACKGROUND", (0, 0), (-1, 0), HexColor("#e4e9ee")),
            ("LINEBELOW", (0, 0), (-1, -1), 0.4, HexColor("#b0b7bf")),
            ("ALIGN", (-1, 0), (-1, -1), "RIGHT"),
        ]
    )
    story = [Paragraph(title, styles["Title"])]
    story += [Paragraph(line, styles["Normal"]) for line in head]
    story += [Spacer(0, 6 * mm), Table(rows, [width * mm for width in widths], style=lines)]
    story += [Spacer(0, 6 * mm), *(Paragraph(line, styles["Normal"]) for line in foot)]
    made = SimpleDocTemplate(str(path), pagesize=A4, title=title, author="Office", invariant=1)
    made.build(story)
