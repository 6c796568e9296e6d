"""The sheets service keeps the contract of services, its own rules, and believable data."""

import pytest
from office_calls import service

from agentgym.services import Backend
from agentgym.testing.service_contract import ServiceContract

PLAN = {"workbook": 1, "sheet": "Plan"}


def services():
    return service("sheets")


class TestSheets(ServiceContract):
    samples = 6
    accepted = {
        "sheets_create_workbook": {"name": "Trip", "sheets": ["Days"]},
        "sheets_find": {"text": "Taxi"},
        "sheets_read_range": {"workbook": 1, "sheet": "Plan"},
        "sheets_evaluate": {"workbook": 1, "sheet": "Plan", "formula": "=SUM(B2:B9)"},
        "sheets_write_range": {**PLAN, "start": "B2", "rows": [[1, "=B2"], [None]]},
        "sheets_append_rows": {**PLAN, "rows": [["x", 1]]},
        "sheets_clear_range": {**PLAN, "cells": "B2:C2"},
        "sheets_insert_rows": {**PLAN, "row": 3},
        "sheets_delete_rows": {**PLAN, "row": 3},
        "sheets_fill_down": {**PLAN, "cells": "B2:C4"},
        "sheets_add_sheet": {"workbook": 1, "name": "Notes"},
        "sheets_rename_sheet": {**PLAN, "name": "Plans"},
        "sheets_delete_sheet": {**PLAN, "sheet": "Compare"},
    }
    examples = {
        "sheets_list_workbooks.text": ["Budget", "final"],
        "sheets_find.text": ["Taxi", "SUM("],
        "sheets_read_range.cells": ["A1:C9", "B2"],
        "sheets_clear_range.cells": ["B2:C3"],
        "sheets_fill_down.cells": ["B2:C4"],
        "sheets_evaluate.formula": ["=SUM(B2:B9)", "=1/0"],
        "sheets_write_range.start": ["B2", "H4"],
        **{
            f"sheets_{tool}.rows": [[["x", 1, "=B2+1"]], [["2026-03-02", True], [None]]]
            for tool in ("write_range", "append_rows")
        },
        **{
            f"sheets_{tool}.workbook": [1, 2, 3]
            for tool in (
                *("read_range", "evaluate", "write_range", "append_rows", "clear_range"),
                *("insert_rows", "delete_rows", "fill_down"),
                *("rename_sheet", "delete_sheet", "add_sheet"),
            )
        },
        **{
            f"sheets_{tool}.sheet": ["Plan", "Compare", "Actual"]
            for tool in (
                *("read_range", "evaluate", "write_range", "append_rows", "clear_range"),
                *("insert_rows", "delete_rows", "fill_down"),
                *("rename_sheet", "delete_sheet"),
            )
        },
        **{f"sheets_{tool}.name": ["Notes", "Q 1"] for tool in ("add_sheet", "rename_sheet")},
        "sheets_create_workbook.sheets": [["One", "Two"]],
        **{
            f"sheets_{tool}.seen_version": [1, 2]
            for tool in ("write_range", "append_rows", "clear_range")
        },
    }

    def make(self):
        return services()


@pytest.fixture
def desk():
    return Backend(services(), services().template(1))


def ask(desk, tool, **arguments):
    reply = desk.call(f"sheets_{tool}", arguments)
    assert reply.error is None, reply.error
    return reply.result


def refusal(desk, tool, **arguments):
    before = desk.hash
    error = desk.call(f"sheets_{tool}", arguments).error
    assert desk.hash == before
    return error.code, error.field


@pytest.fixture
def book(desk):
    return ask(desk, "create_workbook", name="Test", sheets=["Main", "Q 1"])["id"]


def put(desk, book, start, *rows, sheet="Main"):
    return ask(desk, "write_range", workbook=book, sheet=sheet, start=start, rows=list(rows))


def values(desk, book, sheet="Main", **more):
    return ask(desk, "read_range", workbook=book, sheet=sheet, **more)["rows"]


def test_formulas_follow_what_they_are_made_of_across_sheets(desk, book):
    put(desk, book, "A1", [2, 3, "=A1*B1+'Q 1'!A1"], ["=C1+1"])
    assert values(desk, book) == [[2, 3, 6], [7, None, None]]
    put(desk, book, "A1", [10], sheet="Q 1")
    assert values(desk, book) == [[2, 3, 16], [17, None, None]]
    shown = values(desk, book, cells="C1", formulas=True)
    assert shown == [["=A1*B1+'Q 1'!A1"]]
    ask(desk, "clear_range", workbook=book, sheet="Main", cells="A1:B1")
    assert values(desk, book, cells="C1") == [[10]]


def test_what_is_typed_keeps_its_kind(desk, book):
    put(desk, book, "A1", ["12", 12, 1.5, True, "2026-03-02", "'=A1", "2026-02-30", "", None])
    assert values(desk, book) == [["12", 12, 1.5, True, "2026-03-02", "=A1", "2026-02-30"]]
    put(desk, book, "A2", ["=E1+30", "=E1-A2", "=SUM(A1:D1)", "=COUNT(A1:G1)", "=A1+1"])
    assert values(desk, book, cells="A2:E2") == [["2026-04-01", -30, 13.5, 3, "#VALUE!"]]


def test_a_circle_is_told_and_goes_when_it_is_broken(desk, book):
    told = put(desk, book, "A1", ["=B1+1", "=A1+1", "=A1*2", "=COUNT(A1:B1)"])
    assert told["circular"] == ["Main!A1", "Main!B1"]
    codes = ["#CIRCULAR!"] * 3
    assert values(desk, book) == [[*codes, 0]]
    assert [p["error"] for p in ask(desk, "list_problems", workbook=book)] == codes
    told = put(desk, book, "B1", [4])
    assert told["circular"] == told["errors"] == []
    assert values(desk, book) == [[5, 4, 10, 2]]
    assert put(desk, book, "A5", ["=SUM(A1:A9)"])["circular"] == ["Main!A5"]


def test_renaming_a_sheet_keeps_formulas_and_deleting_one_breaks_them(desk, book):
    put(desk, book, "A1", [3], sheet="Q 1")
    put(desk, book, "A1", ["='q 1'!A1*2"])
    ask(desk, "rename_sheet", workbook=book, sheet="Q 1", name="First")
    assert values(desk, book, formulas=True) == [["=First!A1*2"]]
    assert values(desk, book) == [[6]]
    taken = {"workbook": book, "sheet": "First", "name": "MAIN"}
    assert refusal(desk, "rename_sheet", **taken) == ("conflict", "name")
    ask(desk, "delete_sheet", workbook=book, sheet="First")
    assert values(desk, book) == [["#REF!"]]
    assert refusal(desk, "delete_sheet", workbook=book, sheet="Main") == ("conflict", "sheet")
    ask(desk, "add_sheet", workbook=book, name="first")
    assert values(desk, book) == [[0]]


def test_a_stale_version_a_wrong_formula_and_the_edge_are_refused(desk, book):
    base = {"workbook": book, "sheet": "Main", "start": "A1"}
    assert put(desk, book, "A1", [1])["version"] == 2
    assert put(desk, book, "A1", [1])["version"] == 2, "nothing changed"
    stale = refusal(desk, "write_range", **base, rows=[[2]], seen_version=1)
    assert stale == ("conflict", "seen_version")
    broken = refusal(desk, "write_range", **base, rows=[[1], [2, "=SUM(A1"]])
    assert broken == ("invalid", "rows[1][1]")
    off = {**base, "start": "ZZ10000"}
    assert refusal(desk, "write_range", **off, rows=[[1, 2]]) == ("invalid", "rows")
    assert refusal(desk, "write_range", **{**off, "start": "AAA1"}, rows=[[1]]) == (
        "invalid",
        "start",
    )
    many = [["=1"] * 26] * 40
    assert refusal(desk, "write_range", **base, rows=many) == ("conflict", None)


def change_rows(desk, tool, book, row, count=1, sheet="Main"):
    return ask(desk, tool, workbook=book, sheet=sheet, row=row, count=count)


def test_rows_that_come_and_go_are_followed_by_formulas(desk, book):
    put(desk, book, "A1", ["n"], [1], [2], [3], ["=SUM(A2:A4)", "=A3*10", "=$A$4"])
    put(desk, book, "A1", ["=Main!A4", "=COUNTIF(Main!A2:A4,3)", "=SUM(A1:A1)"], sheet="Q 1")
    told = change_rows(desk, "insert_rows", book, 3, 2)
    assert told["cells"] == "Main!3:4" and told["errors"] == []
    assert values(desk, book, cells="A7:C7", formulas=True) == [["=SUM(A2:A6)", "=A5*10", "=$A$6"]]
    assert values(desk, book, cells="A7:C7") == [[6, 20, 3]]
    other = values(desk, book, sheet="Q 1", formulas=True)
    assert other == [["=Main!A6", "=COUNTIF(Main!A2:A6,3)", "=SUM(A1:A1)"]]
    change_rows(desk, "delete_rows", book, 5, 2)
    assert values(desk, book, cells="A5:C5", formulas=True) == [
        ["=SUM(A2:A4)", "=#REF!*10", "=#REF!"]
    ]
    assert values(desk, book, cells="A5:C5") == [[1, "#REF!", "#REF!"]]
    assert values(desk, book, sheet="Q 1")[0][:2] == ["#REF!", 0]
    put(desk, book, "A9", ["=COUNTIF(#REF!,1)", "=SUM(#REF!)"])
    assert values(desk, book, cells="A9:B9") == [["#REF!"] * 2]


def test_the_last_rows_are_not_pushed_off_the_sheet(desk, book):
    put(desk, book, "A9999", ["=SUM(B1:B10000)"])
    call = {"workbook": book, "sheet": "Main", "row": 1, "count": 2}
    assert refusal(desk, "insert_rows", **call) == ("conflict", "count")
    change_rows(desk, "insert_rows", book, 1)
    assert values(desk, book, cells="A10000", formulas=True) == [["=SUM(B2:B10000)"]]


def cells_of(desk):
    sql = "SELECT sheet_id, row, col, formula, kind, value FROM sheets_cell ORDER BY 1, 2, 3"
    return desk.state.rows.all(sql)


@pytest.mark.parametrize("row", [1, 2, 5, 40])
def test_rows_inserted_and_deleted_again_leave_every_workbook_as_it_was(desk, row):
    before = cells_of(desk)
    values_before = [(c["kind"], c["value"]) for c in before]
    sheets = desk.state.rows.all("SELECT workbook_id, name FROM sheets_sheet ORDER BY id")
    for tool in ("insert_rows", "delete_rows"):
        for sheet in sheets:
            change_rows(desk, tool, sheet["workbook_id"], row, 3, sheet["name"])
        assert [(c["kind"], c["value"]) for c in cells_of(desk)] == values_before
    assert cells_of(desk) == before


def test_what_is_filled_down_looks_as_far_away_as_before(desk, book):
    put(desk, book, "A1", [1, 10, "=A1*$B$1", "x", None], [2], [3], [None, None, None, None, "old"])
    fill = {"workbook": book, "sheet": "Main", "cells": "C1:E4"}
    ask(desk, "fill_down", **fill)
    shown = values(desk, book, cells="C1:E4", formulas=True)
    assert [row[0] for row in shown] == [f"=A{n}*$B$1" for n in (1, 2, 3, 4)]
    assert [row[1:] for row in shown] == [["x"]] * 4, "an empty cell is copied, too"
    assert [row[0] for row in values(desk, book, cells="C1:C4")] == [10, 20, 30, 0]
    put(desk, book, "A6", ["=A10000"], [None])
    told = ask(desk, "fill_down", **{**fill, "cells": "A6:A7"})
    assert told["errors"] == [{"cell": "Main!A7", "formula": "=#REF!", "error": "#REF!"}]


def test_rows_go_below_the_last_one(desk, book):
    put(desk, book, "C3", ["x"])
    told = ask(desk, "append_rows", workbook=book, sheet="main", rows=[["a"], ["b", 2]])
    assert told["cells"] == "Main!A4:B5"
    assert values(desk, book, cells="A4:B9") == [["a", None], ["b", 2]]


def test_working_out_writes_nothing(desk, book):
    put(desk, book, "A1", [1, 2, 3])
    before = desk.hash
    ask_ = {"workbook": book, "sheet": "Main"}
    assert ask(desk, "evaluate", **ask_, formula="=AVERAGE(A1:C1)") == 2
    assert ask(desk, "evaluate", **ask_, formula="=Z9") == 0
    assert desk.hash == before
    assert refusal(desk, "evaluate", **ask_, formula="1+") == ("invalid", "formula")


def test_data_fit_together_and_are_as_messy_as_real_ones(desk):
    rows = desk.state.rows
    assert rows.value("SELECT count(*) FROM sheets_workbook") >= 20
    assert rows.value("SELECT count(*) FROM sheets_cell WHERE formula IS NOT NULL") > 400
    errors = set(rows.column("SELECT value FROM sheets_cell WHERE kind = 'error'"))
    assert {"#REF!", "#NAME?", "#DIV/0!", "#CIRCULAR!"} <= errors

    def total(name, sheet, cell):
        book = rows.value("SELECT id FROM sheets_workbook WHERE name = ?", name)
        return ask(desk, "read_range", workbook=book, sheet=sheet, cells=cell)["rows"][0][0]

    def receipts(month):
        book = rows.value("SELECT id FROM sheets_workbook WHERE name = ?", f"Expenses {month}")
        read = ask(desk, "read_range", workbook=book, sheet="Receipts")["rows"]
        return sum(row[4] for row in read[1:] if not isinstance(row[4], str))

    right = total("Expenses 2025-09", "Summary", "B7")
    assert right == pytest.approx(receipts("2025-09"))
    for month in ("2025-12", "2026-01"):
        assert total(f"Expenses {month}", "Summary", "B7") < receipts(month) - 1, "a wrong total"
    whole = ask(desk, "read_range", workbook=2, sheet="Plan")["rows"]
    assert whole[-1][0] == "Total" and whole[-1][5] == sum(row[5] for row in whole[1:-1])


def test_another_seed_makes_other_figures():
    assert services().template(1).hash != services().template(2).hash
