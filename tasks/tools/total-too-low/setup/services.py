"""The formula that is wrong; two of the workbooks come with theirs."""


def change(desk):
    """Write it as a colleague would have done."""
    case = desk.params["case"]
    if case["broken"]:
        desk.call(
            "sheets_write_range",
            workbook=case["workbook"],
            sheet=case["sheet"],
            start=case["place"],
            rows=[[case["broken"]]],
        )
