"""OSWorld's metrics of workbooks."""

import pytest
from osworld_files import book
from osworld_scores import score

ROWS = [["city", "n"], ["Bonn", 1.00001], ["Köln", 2]]


def table(name, seen, wanted, tmp_path, *rules):
    return score("compare_table", (seen, wanted), tmp_path / name, rules=list(rules))


def pair(kind, **more):
    return {"type": kind, "sheet_idx0": 0, "sheet_idx1": "EI0", **more}


def test_sheets_are_equal_in_their_values(tmp_path):
    gold, rule = book({"S": ROWS}), pair("sheet_data")
    empty = book({"S": [[*row, None] for row in ROWS] + [[None, None], ["", None]]})
    assert table("same", empty, gold, tmp_path, rule) == 1
    wrong = {
        "number": [["city", "n"], ["Bonn", 1.1], ["Köln", 2]],
        "text": [["city", "n"], ["Bonn", "1"], ["Köln", 2]],
        "truth": [["city", "n"], ["Bonn", True], ["Köln", 2]],
        "order": [ROWS[0], ROWS[2], ROWS[1]],
        "fewer": ROWS[:2],
        "more": [*ROWS, ["Ulm", 3]],
        "wider": [[*row, "x"] for row in ROWS],
        "formula": [["city", "n"], ["Bonn", "=1"], ["Köln", 2]],
    }
    for name, rows in wrong.items():
        assert table(name, book({"S": rows}), gold, tmp_path, rule) == 0, name
    assert table("none", None, gold, tmp_path, rule) == 0


def test_sheets_are_named_by_place_and_name(tmp_path):
    seen, gold = book({"A": [[1]], "B": [[2]]}), book({"X": [[2]], "Y": [[1]]})
    by_name = {"type": "sheet_data", "sheet_idx0": "RNB", "sheet_idx1": "ENX"}
    by_place = {"type": "sheet_data", "sheet_idx0": "RI0", "sheet_idx1": "EI1"}
    assert table("right", seen, gold, tmp_path, by_name, by_place) == 1
    assert table("absent", seen, gold, tmp_path, {**by_name, "sheet_idx0": "RNC"}) == 0
    assert table("swapped", seen, gold, tmp_path, {**by_name, "sheet_idx0": "RNA"}) == 0
    assert table("names", seen, gold, tmp_path, {"type": "sheet_name"}) == 0
    assert table("equal", seen, seen, tmp_path, {"type": "sheet_name"}) == 1


def test_sheets_are_equal_as_printed(tmp_path):
    seen = book({"S": ROWS}, beside={"book-S.csv": b"Bonn,1.00\n\n"})
    gold = book({"S": [["x"]]}, beside={"book-S.csv": b"bonn,1.00\n"})
    assert table("case", seen, gold, tmp_path, pair("sheet_print", ignore_case=True)) == 1
    assert table("strict", seen, gold, tmp_path, pair("sheet_print")) == 0
    with pytest.raises(FileNotFoundError):
        table("absent", book({"S": ROWS}), gold, tmp_path, pair("sheet_print"))


def test_ranges_are_compared_as_texts(tmp_path):
    seen, gold = book({"S": [["12 Main Rd", "+49 1"]]}), book({"S": [["12 Main Road", "491"]]})
    rules = [
        {"range": ["A1:A1"], "type": "exact_match", "normalization": [["Rd", "Road"]]},
        {"range": ["B1"], "type": "exact_match", "trim_leadings": "+", "ignore_chars": " "},
    ]
    assert table("plain", seen, gold, tmp_path, pair("sheet_fuzzy", rules=rules)) == 1
    fuzzy = [{"range": ["A1"], "type": "fuzzy_match", "threshold": 95}]
    assert table("far", seen, gold, tmp_path, pair("sheet_fuzzy", rules=fuzzy)) == 0
    fuzzy[0]["threshold"] = 85
    assert table("near", seen, gold, tmp_path, pair("sheet_fuzzy", rules=fuzzy)) == 1
    part = [{"range": ["A1"], "type": "included_by"}]
    assert table("part", seen, gold, tmp_path, pair("sheet_fuzzy", rules=part)) == 0


def bold(workbook, colour="FFFF0000"):
    from openpyxl.styles import Font, PatternFill

    cell = workbook["S"]["A1"]
    cell.font, cell.fill = Font(bold=True, color=colour), PatternFill("solid", fgColor=colour)


def test_cells_have_styles_and_values(tmp_path):
    def check(name, made, **props):
        rule = {"type": "check_cell", "sheet_idx": 0, "coordinate": "A1", "props": props}
        return table(name, made, None, tmp_path, rule)

    red, plain = book({"S": [["x"]]}, bold), book({"S": [["x"]]})
    wanted = {
        "value": {"method": "eq", "ref": "x"},
        "bgcolor": {"method": "eq", "ref": "FFFF0000"},
        "font_bold": {"method": "eq", "ref": True},
    }
    assert check("red", red, **wanted) == 1
    assert check("plain", plain, **wanted) == 0
    merged = book({"S": [["x", None]]}, lambda made: made["S"].merge_cells("A1:B1"))
    of_b = {"type": "check_cell", "sheet_idx": 0, "coordinate": "B1"}
    is_merged = {**of_b, "props": {"merge": {"method": "eq", "ref": True}}}
    assert table("merged", merged, None, tmp_path, is_merged) == 1
    assert table("apart", plain, None, tmp_path, is_merged) == 0
    number = {"value": {"method": "approx:0.1", "ref": -3.5}}
    assert check("near", book({"S": [[-3.45]]}), **number) == 1
    assert check("far", book({"S": [[3.5]]}), **number) == 0
    assert check("empty", book({"S": [[None]]}), **number) == 0
    style = pair("style", props=["bgcolor", "font_color"])
    assert table("same style", red, red, tmp_path, style) == 1
    assert table("no style", plain, red, tmp_path, style) == 0
    blue = book({"S": [["x"]]}, lambda made: bold(made, "FF0000FF"))
    assert table("other style", blue, red, tmp_path, style) == 0


def test_conditions_give_cells_a_style(tmp_path):
    from openpyxl.formatting.rule import CellIsRule
    from openpyxl.styles import PatternFill

    def above(limit):
        def change(workbook):
            fill = PatternFill("solid", bgColor="FF00FF00")
            rule = CellIsRule(operator="greaterThan", formula=[str(limit)], fill=fill)
            workbook["S"].conditional_formatting.add("A1:A2", rule)

        return change

    rows, style = {"S": [[1], [5]]}, pair("style", props=["bgcolor"])
    gold = book(rows, above(3))
    assert table("same", book(rows, above(4)), gold, tmp_path, style) == 1
    assert table("all", book(rows, above(0)), gold, tmp_path, style) == 0
    assert table("none", book(rows), gold, tmp_path, style) == 0


def test_charts_filters_and_views_are_compared(tmp_path):
    from openpyxl.chart import BarChart, LineChart, Reference
    from openpyxl.worksheet.datavalidation import DataValidation

    def chart(kind, title="T", column=2):
        def change(workbook):
            made = kind()
            made.title = title
            made.add_data(Reference(workbook["S"], min_col=column, min_row=1, max_row=3))
            workbook["S"].add_chart(made, "E1")

        return book({"S": ROWS}, change)

    rule = pair("chart", chart_props=["type", "title"])
    assert table("same", chart(BarChart), chart(BarChart), tmp_path, rule) == 1
    assert table("kind", chart(LineChart), chart(BarChart), tmp_path, rule) == 0
    assert table("title", chart(BarChart, "U"), chart(BarChart), tmp_path, rule) == 0
    assert table("data", chart(BarChart, column=1), chart(BarChart), tmp_path, rule) == 0
    assert table("no chart", book({"S": ROWS}), chart(BarChart), tmp_path, rule) == 0

    def view(freeze=None, hidden=False, zoom=100, choices=None, filtered=None):
        def change(workbook):
            sheet = workbook["S"]
            sheet.freeze_panes = freeze
            sheet.row_dimensions[2].hidden = hidden
            sheet.sheet_view.zoomScale = zoom
            if choices:
                validation = DataValidation("list", formula1=f'"{choices}"')
                validation.add("B2:B3")
                sheet.add_data_validation(validation)
            sheet.auto_filter.ref = filtered

        return book({"S": ROWS}, change)

    assert table("frozen", view("B2"), view("B2"), tmp_path, pair("freeze")) == 1
    assert table("thawed", view(), view("B2"), tmp_path, pair("freeze")) == 0
    rows = pair("row_props", props=["hidden"])
    assert table("hidden", view(hidden=True), view(hidden=True), tmp_path, rows) == 1
    assert table("shown", view(), view(hidden=True), tmp_path, rows) == 0
    zoom = {"type": "zoom", "sheet_idx": 0, "method": "lt", "ref": 150}
    assert table("small", view(zoom=120), None, tmp_path, zoom) == 1
    assert table("large", view(zoom=200), None, tmp_path, zoom) == 0
    props = {
        "ranges": {"method": "spreadsheet_range", "ref": ["B2:B3", "B1:B9"]},
        "formula1": {"method": "str_set_eq", "ref": ["b", "a"]},
    }
    valid = {"type": "data_validation", "sheet_idx": 0, "dv_props": [props]}
    assert table("valid", view(choices="a,b"), None, tmp_path, valid) == 1
    assert table("fewer choices", view(choices="a"), None, tmp_path, valid) == 0
    assert table("no choices", view(), None, tmp_path, valid) == 0
    assert (
        table("filter", view(filtered="A1:B3"), view(filtered="A1:B3"), tmp_path, pair("filter"))
        == 1
    )
    assert table("no filter", view(), view(filtered="A1:B3"), tmp_path, pair("filter")) == 0


def test_an_unknown_rule_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no rule 'colour'"):
        table("x", book({"S": ROWS}), None, tmp_path, {"type": "colour"})


def test_cities_are_in_order(tmp_path):
    names = [f"Town {at}" for at in range(21)]
    right = book({"S": [["a", "b", "c"]] + [["", "", f"{name.upper()}, Land"] for name in names]})
    given = {"expected": [[name, "x"] for name in names]}
    assert score("compare_conference_city_in_order", (right, given), tmp_path / "1") == 1
    wrong = {"expected": [*names[:20], "Ulm"]}
    assert score("compare_conference_city_in_order", (right, wrong), tmp_path / "2") == 0
    assert score("compare_conference_city_in_order", (None, given), tmp_path / "3") == 0


# --- documents ---
