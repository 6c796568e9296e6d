"""Office documents for the calibration cases."""

import io


def workbook(
    rows: list = (),
    sheets: list = ("Data",),
    bold: str = "",
    styles: dict = {},  # noqa: B006
    charts: list = (),
) -> bytes:
    """Return a workbook with rows in its last sheet; styles by cell, e.g. a number format.

    Charts are given by kind, title, values and names (ranges).
    """
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
    for one in charts:
        sheet.add_chart(_chart(sheet, **one), "F2")
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _chart(sheet: object, kind: str, title: str, values: str, names: str) -> object:
    from openpyxl import chart

    made = {"column": chart.BarChart, "line": chart.LineChart, "pie": chart.PieChart}[kind]()
    made.title = title
    made.add_data(chart.Reference(sheet, range_string=values), titles_from_data=False)
    made.set_categories(chart.Reference(sheet, range_string=names))
    return made


def document(paragraphs: list, table: list = (), changes: list = ()) -> bytes:
    """Return a document of [style, text] paragraphs, recorded changes and a table after them.

    A run between asterisks is bold.
    A change is [``ins`` or ``del``, author, text].
    """
    import docx
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    made = docx.Document()
    for style, text in paragraphs:
        paragraph = made.add_paragraph(style=style or None)
        for run in text.split("|"):  # one run for each piece, as an editor leaves them
            is_bold = run.startswith("*") and run.endswith("*")
            paragraph.add_run(run.strip("*")).bold = True if is_bold else None
    for kind, author, text in changes:
        part = "delText" if kind == "del" else "t"
        made.add_paragraph()._p.append(
            parse_xml(
                f'<w:{kind} {nsdecls("w")} w:id="1" w:author="{author}">'
                f"<w:r><w:{part}>{text}</w:{part}></w:r></w:{kind}>"
            )
        )
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
