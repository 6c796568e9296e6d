"""The budget of a year with four faults: two lost references, a short sum, an amount as text."""

from documents import HOME, finish, new_workbook, save_workbook, table, title
from openpyxl.styles import Alignment

AMOUNTS = (
    ("Salaries", 78_400, 78_400, 79_900, 79_900),
    ("Rent", 14_250, 14_250, 14_250, 14_250),
    ("Travel", 4_300, 6_150, 3_980, 5_240),
    ("Software", 5_120, 4_870, 5_310, 5_120),
    ("Hardware", 2_600, 9_400, 1_850, 3_300),
    ("Catering", 1_050, 1_200, 1_090, 1_460),
    ("Training", 3_500, 2_680, 6_450, 4_100),
    ("Insurance", 4_500, 4_500, 4_500, 4_500),
)
FIRST, LAST = 5, 4 + len(AMOUNTS)
book = new_workbook("Budget", "Summary")
sheet = book["Budget"]
title(sheet, "Budget 2026", "In EUR, by quarter")
rows = [[*row, f"=SUM(B{n}:E{n})"] for n, row in enumerate(AMOUNTS, FIRST)]
rows.append(["All", *(f"=SUM({column}{FIRST}:{column}{LAST})" for column in "BCDEF")])
header = ("Item", "Q1", "Q2", "Q3", "Q4", "Year")
table(sheet, 4, header, rows, (None, *["#,##0.00"] * 5), (18, 14, 14, 14, 14, 15))
sheet["F8"] = "=SUM(B8:#REF!)"
sheet[f"D{LAST + 1}"] = f"=SUM(D{FIRST}:D{LAST - 1})"
sheet["C10"] = "1 200.00"
sheet["C10"].alignment = Alignment(horizontal="right")

summary = book["Summary"]
title(summary, "Summary 2026", "In EUR")
table(
    summary,
    4,
    ("", "EUR"),
    [
        ["First half", f"=Budget!B{LAST + 1}+Budget!C{LAST + 1}"],
        ["Second half", f"=Budget!#REF!+Budget!E{LAST + 1}"],
        ["Year", f"=Budget!F{LAST + 1}"],
        ["Granted", 495_000],
        ["Left", "=B8-B7"],
    ],
    (None, "#,##0.00"),
    (18, 16),
)
save_workbook(book, HOME / "Documents" / "budget-2026.xlsx")
finish("libreoffice --calc /home/user/Documents/budget-2026.xlsx")
