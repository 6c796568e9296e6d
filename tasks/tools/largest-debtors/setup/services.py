"""Makes two mistakes in the lists that affect the largest debts."""

INVOICES_2025, INVOICES_2026 = 16, 17


def change(context):
    """Enter an open invoice twice, and type an open amount with its currency."""
    again = ["INV-59992", "Redwood Insurance", "Parcelhub", 100, "2026-01-23", "2026-02-22", 5550]
    context.call("sheets_append_rows", workbook=INVOICES_2026, sheet="Invoices", rows=[again])
    context.call(
        "sheets_write_range",
        workbook=INVOICES_2025,
        sheet="Invoices",
        start="G103",
        rows=[["EUR 2052"]],
    )
