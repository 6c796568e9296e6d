"""Two quotes as PDF, and a sheet that compares them; one of them leaves a price open."""

from documents import HOME, finish, new_workbook, parameters, pdf, save_workbook, table, title

ITEMS = (
    ("Desk, 160 x 80 cm", "418.00", "402.50"),
    ("Office chair", "289.00", "301.00"),
    ("Cupboard, lockable", "365.00", "349.90"),
    ("Desk lamp", "54.50", "61.00"),
    ("Conference table", "1,240.00", "1,190.00"),
)
given = parameters()
folder = HOME / "Quotes"
for place, (name, own) in enumerate((("Arkwright", 1), ("Holloway", 2))):
    rows = [("Item", "Pieces", "Price EUR")]
    for item in ITEMS:
        price = "on request" if own == 2 and item[0] == given["item"] else item[own]
        rows.append((item[0], "12" if item[0] != "Conference table" else "1", price))
    head = [
        f"Quote {2026_011 + 7 * place} for Fairlead Software, Berlin",
        f"{9 + place} February 2026",
        "",
    ]
    foot = ["Prices a piece, without value added tax. Valid for six weeks."]
    pdf(folder / f"{name.lower()}.pdf", f"{name} Office Furniture", head, rows, (80, 30, 40), foot)
book = new_workbook("Comparison")
sheet = book["Comparison"]
title(sheet, "Furniture for Harbour Street", "Prices a piece in EUR, without value added tax")
rows = [
    [item, float(a.replace(",", "")), None if item == given["item"] else float(b.replace(",", ""))]
    for item, a, b in ITEMS
]
table(
    sheet, 4, ("Item", "Arkwright", "Holloway"), rows, (None, "#,##0.00", "#,##0.00"), (26, 14, 14)
)
save_workbook(book, folder / "comparison.xlsx")
finish("thunar /home/user/Quotes", "libreoffice --calc /home/user/Quotes/comparison.xlsx")
