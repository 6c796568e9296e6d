"""Writes the duty roster, which Support keeps in a workbook."""

import datetime

_THIS_YEAR = (
    "Hiro Tanabe",
    "Greta Sommer",
    "Hiro Tanabe",
    "Ravi Maier",
    "Hiro Tanabe",
    "Kofi Petersen",
    "Greta Sommer",
    "Hiro Tanabe",
    "Kofi Petersen",
    "Hiro Tanabe",
    "Greta Sommer",
    "Ravi Maier",
    "Hiro Tanabe",
    "Kofi Petersen",
)
_LAST_YEAR = ("Hiro Tanabe", "Greta Sommer", "Kofi Petersen", "Hiro Tanabe")


def change(context):
    """Write the roster and make Greta its owner."""
    book = context.call("sheets_create_workbook", name="Engineer on duty", sheets=["2026", "2025"])
    for sheet, first, names in (
        ("2026", datetime.date(2026, 2, 23), _THIS_YEAR),
        ("2025", datetime.date(2025, 12, 1), _LAST_YEAR),
    ):
        weeks = [
            [str(first + datetime.timedelta(weeks=number)), name]
            for number, name in enumerate(names)
        ]
        context.call(
            "sheets_write_range",
            workbook=book["id"],
            sheet=sheet,
            start="A1",
            rows=[["Week from", "Engineer"], *weeks],
        )
    context.db.execute(
        "UPDATE sheets_workbook SET owner = 'greta.sommer@fairlead.example' WHERE id = ?",
        book["id"],
    )
