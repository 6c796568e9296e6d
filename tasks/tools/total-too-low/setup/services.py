"""Writes the wrong formula; two of the workbooks already have one."""


def change(context):
    """Write the formula into its cell."""
    case = context.params["case"]
    if case["broken"]:
        context.call(
            "sheets_write_range",
            workbook=case["workbook"],
            sheet=case["sheet"],
            start=case["place"],
            rows=[[case["broken"]]],
        )
