"""Liam enters a forgotten invoice between those of its day."""


def change(context):
    """Insert a row at 9; the rows below move down."""
    context.call("sheets_insert_rows", workbook=17, sheet="Invoices", row=9)
    context.call(
        "sheets_write_range",
        workbook=17,
        sheet="Invoices",
        start="A9",
        rows=[["INV-31313", "Vantage Fitness", "Ledgerly", 12, "2026-01-10", "=E9+30", 864]],
    )
    context.db.execute(
        "UPDATE sheets_workbook SET updated_by = 'liam.jensen@fairlead.example' WHERE id = 17"
    )
