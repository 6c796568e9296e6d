"""Orders of a quarter by region, as the sales team has left them."""

from documents import HOME, finish, new_workbook, save_workbook, table, title

ORDERS = (
    ("Bavaria", 18_450.5, 17_920, 21_310.75),
    ("Berlin", 26_300, 24_815.25, 27_040),
    ("Hamburg", 14_120, 15_990.4, 13_875),
    ("Hesse", 11_640.8, 12_310, 12_985.5),
    ("Saxony", 8_905, 9_430.6, 10_220),
    ("North Rhine", 31_770.2, 29_640, 33_105.9),
)
book = new_workbook("Q1", "Notes")
sheet = book["Q1"]
title(sheet, "Orders, first quarter 2026", "By region, in EUR")
table(
    sheet,
    4,
    ("Region", "January", "February", "March", "Quarter"),
    [[*row, None] for row in ORDERS] + [["All regions", None, None, None, None]],
    (None, *["#,##0.00"] * 4),
    (20, 14, 14, 14, 14),
)
notes = book["Notes"]
title(notes, "Notes")
notes["A3"] = "North Rhine includes the shop in Aachen from March on."
save_workbook(book, HOME / "orders-q1.xlsx")
finish("libreoffice --calc /home/user/orders-q1.xlsx")
