"""The statement of a supplier as PDF, and our list of its invoices with three slips."""

import datetime
import random

from documents import HOME, finish, gold, new_workbook, parameters, pdf, save_workbook, table, title

given = parameters()
draw, supplier = random.Random(given["seed"]), given["supplier"]
day = datetime.date(2026, 1, 4)
invoices = []
for number in range(14):
    day += datetime.timedelta(days=draw.randrange(2, 6))
    amount = draw.randrange(11_000, 92_000) / 100
    invoices.append([f"{given['prefix']}-{2041 + 3 * number}", day, amount])

ours = [list(row) for row in invoices]
wrong, swapped, missing = draw.sample(range(1, 13), 3)
ours[wrong][2] = round(ours[wrong][2] + draw.choice([9, 90, -9, -90]), 2)
whole, cents = divmod(round(ours[swapped][2] * 100), 100)
text = f"{whole:03d}"
turned = text[1] + text[0] + text[2:] if text[0] != text[1] else str(whole + 100)
ours[swapped][2] = int(turned) + cents / 100
del ours[missing]

remarks = {invoices[wrong][0]: "corrected", invoices[swapped][0]: "corrected"}
right = [[n, d.isoformat(), a, remarks.get(n, "")] for n, d, a in invoices]
added = right.pop(missing)
gold("list.json", [*right, [*added[:3], "added"]])

total = sum(round(row[2] * 100) for row in invoices)
pdf(
    HOME / "Documents" / "statement.pdf",
    f"{supplier} Office Supplies",
    ["Statement of account, first quarter 2026", "Customer: Fairlead Software, Berlin", ""],
    [("Invoice", "Date", "Amount EUR")]
    + [(n, d.isoformat(), f"{a:,.2f}") for n, d, a in invoices]
    + [("Total", "", f"{total / 100:,.2f}")],
    (50, 50, 40),
    ["All amounts include value added tax. Please compare with your records."],
)
book = new_workbook("Invoices")
sheet = book["Invoices"]
title(sheet, f"Invoices of {supplier}", "First quarter 2026, entered by hand")
rows = [[n, d, a, None] for n, d, a in ours]
table(
    sheet,
    4,
    ("Invoice", "Date", "Amount", "Remark"),
    rows,
    (None, "yyyy-mm-dd", "#,##0.00"),
    (16, 14, 14, 22),
)
save_workbook(book, HOME / "Documents" / "invoices.xlsx")
finish(
    "atril /home/user/Documents/statement.pdf",
    "libreoffice --calc /home/user/Documents/invoices.xlsx",
)
