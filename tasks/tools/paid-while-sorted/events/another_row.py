"""Liam enters another forgotten invoice further down."""


def change(context):
    """Insert a row at 20; the rows below move down."""
    context.call("sheets_insert_rows", workbook=17, sheet="Invoices", row=20)
    context.call(
        "sheets_write_range",
        workbook=17,
        sheet="Invoices",
        start="A20",
        rows=[["INV-47110", "Delta Freight", "Vaultdrive", 30, "2026-01-24", "=E20+30", 1080]],
    )
    context.db.execute(
        "UPDATE sheets_workbook SET updated_by = 'liam.jensen@fairlead.example' WHERE id = 17"
    )
