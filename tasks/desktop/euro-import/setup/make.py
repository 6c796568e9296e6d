"""The sales of a month as the German shop exports them."""

import random

from documents import HOME, finish, gold, new_workbook, parameters, save_workbook, table, title

MONTHS = {"march": 3, "april": 4, "may": 5}
CUSTOMERS = (
    ("Gasthof Adler", "München"),
    ("Café Lindner", "Köln"),
    ("Bäckerei Vogt", "Düsseldorf"),
    ("Buchhandlung Reuter", "Leipzig"),
    ("Schreinerei Pohl", "Nürnberg"),
    ("Praxis Dr. Jensen", "Kiel"),
    ("Weingut Thiel", "Trier"),
)
LINES = 16
given = parameters()
month, draw = MONTHS[given["month"]], random.Random(given["seed"])


def german(cents):
    whole, rest = divmod(cents, 100)
    return f"{whole:,}".replace(",", ".") + f",{rest:02d}"


days = sorted(draw.randrange(1, 29) for _ in range(LINES))
lines, rows = ["Datum;Kunde;Ort;Menge;Betrag"], []
for place, day in enumerate(days):
    customer, town = draw.choice(CUSTOMERS)
    pieces = draw.randrange(2, 40) if place % 6 else draw.randrange(1_100, 1_900)
    cents = draw.randrange(4_000, 99_000) if place % 3 else draw.randrange(110_000, 480_000)
    pieces_told = f"{pieces:,}".replace(",", ".")
    lines.append(f"{day:02d}.{month:02d}.2026;{customer};{town};{pieces_told};{german(cents)}")
    rows.append([f"2026-{month:02d}-{day:02d}", customer, town, pieces, cents / 100])
gold("rows.json", rows)

folder = HOME / "Downloads"
folder.mkdir(parents=True)
(folder / f"umsatz-{given['month']}.csv").write_bytes(("\r\n".join(lines) + "\r\n").encode())
(HOME / "Documents").mkdir()
(HOME / "Documents" / "shop.txt").write_text(
    "The shop in Cologne exports every month.\n"
    "Datum is the date, Kunde the customer, Ort the town,\n"
    "Menge the number of pieces and Betrag the amount in EUR.\n"
)
earlier = new_workbook("Sales")
title(earlier["Sales"], "Sales of the first two months", "In EUR")
table(
    earlier["Sales"],
    4,
    ("Month", "Amount"),
    [["January", 18_204.35], ["February", 16_977.1]],
    (None, "#,##0.00"),
    (16, 14),
)
save_workbook(earlier, HOME / "Documents" / "sales-earlier.xlsx")
finish("thunar /home/user/Downloads")
