"""The formula that is wrong; two of the workbooks come with theirs."""


def change(context):
    """Write it as a colleague would have done."""
    case = context.params["case"]
    if case["broken"]:
        context.call(
            "sheets_write_range",
            workbook=case["workbook"],
            sheet=case["sheet"],
            start=case["place"],
            rows=[[case["broken"]]],
        )
