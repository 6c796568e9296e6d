"""An offer with a table of prices that was not finished."""

import random

from documents import HOME, finish, gold, grid, new_document, parameters, save_document

given = parameters()
draw = random.Random(given["seed"])
ITEMS = (
    ("Desk, 160 x 80 cm", 12),
    ("Office chair", 14),
    ("Cupboard, lockable", 6),
    ("Desk lamp", 12),
)
rows = []
for name, pieces in ITEMS:
    price = draw.randrange(40, 420)
    rows.append([name, str(pieces), f"{price}.00", f"{price * pieces:,}.00"])
wrong = draw.randrange(len(rows))
shown = [list(row) for row in rows]
price = int(rows[wrong][2][:-3])
shown[wrong][3] = f"{price * (ITEMS[wrong][1] - 1):,}.00"
total = sum(int(row[3][:-3].replace(",", "")) for row in rows) + given["delivery"]
right = [["Item", "Pieces", "Price EUR", "Sum EUR"], *rows]
right.append(["Delivery", "1", f"{given['delivery']}.00", f"{given['delivery']}.00"])
gold("total.json", f"{total:,}.00")
gold("table.json", right)

document = new_document()
document.add_heading("Offer 2026-041", 1)
document.add_paragraph("for Fairlead Software, Harbour Street 12, Berlin")
document.add_paragraph(
    "We offer the furniture of the second floor as follows, without value added tax."
)
grid(document, [right[0], *shown], (7, 2.5, 3, 3.5))
document.add_paragraph("")
document.add_paragraph("Total: [total] EUR")
document.add_paragraph("The prices hold until 30 April 2026. We deliver within four weeks.")
save_document(document, HOME / "Documents" / "offer-2026-041.docx")
finish("libreoffice --writer /home/user/Documents/offer-2026-041.docx")
