"""Office documents for the calibration cases."""

import io


def workbook(rows: list = (), sheets: list = ("Data",), bold: str = "", styles: dict = {}) -> bytes:  # noqa: B006
    """Return a workbook with rows in its last sheet; styles by cell, e.g. a number format."""
    import openpyxl
    from openpyxl.styles import Font, PatternFill

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
    for row in rows:
        sheet.append([None if cell == "" else cell for cell in row])
    if bold:
        for row in sheet[bold]:
            for cell in row:
                cell.font = Font(bold=True)
    for at, value in styles.items():
        if value.startswith("#"):
            sheet[at].fill = PatternFill("solid", fgColor="FF" + value[1:].upper())
        else:
            sheet[at].number_format = value
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def document(paragraphs: list, table: list = ()) -> bytes:
    """Return a document of [style, text] paragraphs and a table after them."""
    import docx

    made = docx.Document()
    for style, text in paragraphs:
        paragraph = made.add_paragraph(style=style or None)
        for run in text.split("|"):  # one run for each piece, as an editor leaves them
            paragraph.add_run(run)
    if table:
        grid = made.add_table(rows=len(table), cols=len(table[0]))
        for y, row in enumerate(table):
            for x, text in enumerate(row):
                grid.cell(y, x).text = text
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def slides(slides: list) -> bytes:
    """Return a presentation of slides: ``title``, ``points``, ``notes``, ``box``, ``hidden``."""
    import pptx

    made = pptx.Presentation()
    for told in slides:
        slide = made.slides.add_slide(made.slide_layouts[1 if "title" in told else 6])
        if "title" in told:
            slide.shapes.title.text = told["title"]
            slide.placeholders[1].text = "\n".join(told.get("points", []))
        if "box" in told:
            slide.shapes.add_textbox(0, 0, 999_999, 999_999).text_frame.text = told["box"]
        if "table" in told:
            slide.shapes.add_table(1, 1, 0, 0, 999_999, 999_999).table.cell(0, 0).text = told[
                "table"
            ]
        if "notes" in told:
            slide.notes_slide.notes_text_frame.text = told["notes"]
        if told.get("hidden"):
            slide.element.set("show", "0")
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()
