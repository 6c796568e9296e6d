"""Spreadsheets in a browser: a grid with a formula bar, rows, sheets, search."""

from __future__ import annotations

import re

from agentgym.sites import BoundForm, Field, Form, Request, Response, ServiceError, Site

site = Site()
SHEET_NAME = Field("name", "Name", required=True, most=31)
ROWS = 60
"""Rows of the grid on one page."""

NEW = Form(
    Field("name", "Name", required=True, most=200),
    Field("sheets", "Sheets", "words", hint="Names with commas; one named Sheet1 if empty."),
)
WRITE = Form(
    Field("start", "Cell", required=True, most=12, hint="The upper left cell, as B2."),
    Field(
        "rows",
        "Values",
        "area",
        hint="A row a line, cells with tabs between them. Formulas begin with =.",
    ),
    Field("seen_version", "Version", "hidden"),
)
APPEND = Form(
    Field(
        "rows",
        "New rows",
        "area",
        required=True,
        hint="A row a line, cells with tabs between them, from column A on.",
    )
)


def value_of(text: str) -> object:
    """Return the value that a person means who types a text into a cell."""
    text = text.strip()
    if not text:
        return None
    if text.startswith("'"):
        return text[1:]
    if re.fullmatch(r"[+-]?(0|[1-9]\d{0,14})", text):
        return int(text)
    if re.fullmatch(r"[+-]?\d{1,15}\.\d{1,15}", text):
        return float(text)
    if text.upper() in ("TRUE", "FALSE"):
        return text.upper() == "TRUE"
    return text


def table(text: str) -> list[list[object]]:
    """Return the values of lines with tabs."""
    lines = (text or "").rstrip("\n").split("\n")
    return [[value_of(cell) for cell in line.split("\t")] for line in lines]


def letters(column: int) -> str:
    name = ""
    while column >= 0:
        name, column = chr(65 + column % 26) + name, column // 26 - 1
    return name


def column_of(name: str) -> int:
    number = 0
    for letter in name.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


def shaped(request: Request, heading: str, form: BoundForm, cancel: str, submit: str, **more):
    status = 200 if form.is_valid else 422
    values = {"heading": heading, "form": form, "cancel": cancel, "submit": submit, **more}
    values = {"layout": "sheets.html", "crumb": None, "intro": "", "text": "", **values}
    return request.page("form.html", status, **values)


@site.get("/")
def index(request: Request) -> Response:
    text, owner = request.query.get("name").strip(), request.query.get("owner").strip()
    found = request.call("sheets_list_workbooks", text=text, owner=owner or None, limit=100)
    return request.page("list.html", workbooks=found, name=text, text="")


@site.get("/find")
def find(request: Request) -> Response:
    text, workbook = request.query.get("q").strip(), request.query.number("workbook")
    found, problem = [], ""
    if text:
        try:
            given = {"workbook": workbook} if workbook else {}
            found = request.call("sheets_find", text=text, limit=100, **given)
        except ServiceError as error:
            problem = error.message
    return request.page("find.html", found=found, text=text, problem=problem)


@site.get("/new")
def new(request: Request) -> Response:
    return shaped(request, "New workbook", NEW.blank(), "/", "Create workbook")


@site.post("/new")
def create(request: Request) -> Response:
    form = NEW.bind(request.fields)
    made = form.attempt(
        lambda: request.call(
            "sheets_create_workbook",
            name=form.values["name"],
            sheets=form.values["sheets"] or None,
        )
    )
    if made is None:
        return shaped(request, "New workbook", form, "/", "Create workbook")
    request.flash("Workbook created.")
    return request.redirect(f"/book/{made['id']}")


def first_sheet(request: Request, workbook: int) -> str:
    rows = request.rows(
        "SELECT name FROM sheets_sheet WHERE workbook_id = ? ORDER BY position LIMIT 1", workbook
    )
    return rows[0]["name"] if rows else ""


def grid_page(
    request: Request,
    workbook: int,
    sheet: str,
    status: int = 200,
    write: BoundForm | None = None,
    append: BoundForm | None = None,
) -> Response:
    book = request.call("sheets_get_workbook", workbook=workbook)
    sheet = sheet or first_sheet(request, workbook)
    used = next((s["used"] for s in book["sheets"] if s["name"] == sheet), None)
    match = re.fullmatch(r"([A-Z]+)(\d+)(?::([A-Z]+)(\d+))?", used or "")
    last_row = int(match[4] or match[2]) if match else 1
    last_column = column_of(match[3] or match[1]) if match else 0
    first = request.query.number("row", 1, least=1, most=10_000)
    area = f"A{first}:{letters(max(last_column, 0))}{first + ROWS - 1}"
    formulas = request.query.get("formulas") == "on"
    read = request.call(
        "sheets_read_range", workbook=workbook, sheet=sheet, cells=area, formulas=formulas
    )
    blank = WRITE.blank(seen_version=book["version"])
    return request.page(
        "grid.html",
        status,
        book=book,
        sheet=sheet,
        first=first,
        last_row=last_row,
        rows=read["rows"],
        width=max(last_column + 1, 1),
        letters=letters,
        formulas=formulas,
        size=ROWS,
        write=write or blank,
        append=append or APPEND.blank(),
        text="",
    )


@site.get("/book/{workbook:int}")
def book(request: Request, workbook: int) -> Response:
    return grid_page(request, workbook, request.query.get("sheet"))


@site.post("/book/{workbook:int}/write")
def write(request: Request, workbook: int) -> Response:
    form, sheet = WRITE.bind(request.fields), request.fields.get("sheet")
    seen = form.values["seen_version"] or ""
    done = form.attempt(
        lambda: request.call(
            "sheets_write_range",
            workbook=workbook,
            sheet=sheet,
            start=form.values["start"],
            rows=table(form.values["rows"]),
            **({"seen_version": int(seen)} if seen.isdigit() else {}),
        )
    )
    return after_change(request, workbook, sheet, done, form, None)


@site.post("/book/{workbook:int}/append")
def append(request: Request, workbook: int) -> Response:
    form, sheet = APPEND.bind(request.fields), request.fields.get("sheet")
    rows = table(form.values["rows"] or "")
    done = form.attempt(
        lambda: request.call("sheets_append_rows", workbook=workbook, sheet=sheet, rows=rows)
    )
    return after_change(request, workbook, sheet, done, None, form)


def after_change(
    request: Request,
    workbook: int,
    sheet: str,
    done: dict | None,
    write: BoundForm | None,
    append: BoundForm | None,
) -> Response:
    if done is None:
        return grid_page(request, workbook, sheet, 422, write, append)
    problems = ", ".join(f"{p['cell']}: {p['error']}" for p in done["errors"][:5])
    request.flash(f"{done['cells']} written." + (f" Errors: {problems}" if problems else ""))
    return request.redirect(sheet_url(workbook, sheet))


def sheet_url(workbook: int, sheet: str) -> str:
    return f"/book/{workbook}?sheet={sheet}"


@site.post("/book/{workbook:int}/change")
def change(request: Request, workbook: int) -> Response:
    """Clear or fill cells, insert or delete rows, as the pressed button says."""
    fields, sheet = request.fields, request.fields.get("sheet")
    do, cells = fields.get("do"), fields.get("cells").strip()
    row, count = fields.number("row", 1), fields.number("count", 1)
    calls = {
        "clear": ("Cleared.", "sheets_clear_range", {"cells": cells}),
        "fill": ("Filled down.", "sheets_fill_down", {"cells": cells}),
        "insert": ("Rows inserted.", "sheets_insert_rows", {"row": row, "count": count}),
        "delete": ("Rows deleted.", "sheets_delete_rows", {"row": row, "count": count}),
    }
    if do in calls:
        done, tool, values = calls[do]
        request.attempt(done, tool, workbook=workbook, sheet=sheet, **values)
    return request.redirect(sheet_url(workbook, sheet))


@site.post("/book/{workbook:int}/sheets")
def sheets(request: Request, workbook: int) -> Response:
    """Add, rename or delete a sheet, as the pressed button says."""
    fields, sheet = request.fields, request.fields.get("sheet")
    do, name = fields.get("do"), fields.get("name").strip()
    shown = sheet
    if (
        do == "add"
        and request.attempt("Sheet added.", "sheets_add_sheet", workbook=workbook, name=name)
        or do == "rename"
        and request.attempt(
            "Sheet renamed.", "sheets_rename_sheet", workbook=workbook, sheet=sheet, name=name
        )
    ):
        shown = name
    elif do == "delete" and request.attempt(
        "Sheet deleted.", "sheets_delete_sheet", workbook=workbook, sheet=sheet
    ):
        shown = ""
    return request.redirect(sheet_url(workbook, shown))


@site.get("/book/{workbook:int}/evaluate")
def evaluate(request: Request, workbook: int) -> Response:
    sheet, formula = request.query.get("sheet"), request.query.get("formula")
    shown, problem = None, ""
    if formula:
        try:
            shown = request.call("sheets_evaluate", workbook=workbook, sheet=sheet, formula=formula)
        except ServiceError as error:
            problem = error.message
    values = {"sheet": sheet, "formula": formula, "result": shown, "problem": problem}
    return request.page("evaluate.html", workbook=workbook, text="", **values)


@site.get("/book/{workbook:int}/problems")
def problems(request: Request, workbook: int) -> Response:
    found = request.call("sheets_list_problems", workbook=workbook)
    return request.page("problems.html", problems=found, workbook=workbook, text="")
