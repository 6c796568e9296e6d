"""Four offers as PDF, one of them out of date, and an empty table that compares three suppliers."""

import random

from documents import HOME, finish, gold, new_workbook, parameters, pdf, save_workbook, table, title

SUPPLIERS = ("Arkwright", "Bellamy", "Dunmore")
ITEMS = (("Desk", 380), ("Office chair", 260), ("Cupboard", 340), ("Desk lamp", 52))
EXTRAS = (("Footrest", 38), ("Whiteboard", 119), ("Coat stand", 64))
given = parameters()
draw = random.Random(given["seed"])


def total(offer):
    goods = sum(n * price for n, price in zip(pieces, offer["prices"], strict=True))
    return goods + offer["freight"]


def drawn(freight):
    prices = [round(base * draw.uniform(0.9, 1.1) * 20) * 5 for _, base in ITEMS]
    return {"prices": prices, "freight": freight, "days": draw.randrange(6, 34)}


def cheapest(offers, cost):
    return min(range(3), key=lambda place: cost(offers[place]))


# The freight decides who is cheapest, and the old offer of Bellamy would decide otherwise, too.
# All amounts are in cents.
while True:
    pieces = [draw.randrange(4, 16) for _ in ITEMS]
    charges = [0, draw.randrange(60, 190) * 100, draw.randrange(200, 420) * 100]
    draw.shuffle(charges)
    offers = [drawn(freight) for freight in charges]
    old = drawn(draw.randrange(60, 190) * 100)
    totals = [total(offer) for offer in offers]
    best = cheapest(offers, total)
    without = cheapest(offers, lambda offer: total(offer) - offer["freight"])
    outdated = cheapest([offers[0], old, offers[2]], total)
    if best != without and best != outdated and len(set(totals)) == 3:
        break

gold(
    "offers.json",
    {
        "prices": [[p / 100 for p in (*o["prices"], o["freight"])] for o in offers],
        "days": [[o["days"]] for o in offers],
        "totals": [[t / 100] for t in totals],
        "cheapest": best,
    },
)
gold("prices.json", [[p / 100 for p in (*o["prices"], o["freight"])] for o in offers])
gold("days.json", [[o["days"]] for o in offers])


def write(name, file, offer, number, day):
    lines = [
        (item, n, price) for (item, _), n, price in zip(ITEMS, pieces, offer["prices"], strict=True)
    ]
    item, base = draw.choice(EXTRAS)
    lines.append((item, 1, base * 100))
    draw.shuffle(lines)
    rows = [("Item", "Pieces", "Price per piece", "Amount")]
    rows += [(i, str(n), f"{p / 100:,.2f}", f"{n * p / 100:,.2f}") for i, n, p in lines]
    freight = f"{offer['freight'] / 100:,.2f} EUR" if offer["freight"] else "free of charge"
    pdf(
        HOME / "Offers" / file,
        f"{name} Office Furniture",
        [
            f"Offer {number} of {day} February 2026",
            f"For Fairlead Software, Berlin: furniture for {given['place']}",
            "All prices in EUR, without value added tax.",
        ],
        rows,
        (60, 25, 40, 40),
        [
            f"Freight: {freight}.",
            f"Delivery {offer['days']} days after the order. This offer is valid for six weeks.",
        ],
    )


write("Arkwright", "arkwright.pdf", offers[0], 2026_114, 10)
early, late = (("bellamy-1.pdf", "bellamy-2.pdf"), ("bellamy-2.pdf", "bellamy-1.pdf"))[
    draw.randrange(2)
]
write("Bellamy", early, old, 5_071, 5)
write("Bellamy", late, offers[1], 5_088, 13)
write("Dunmore", "dunmore.pdf", offers[2], 311, 12)

book = new_workbook("Comparison", "Budget")
sheet = book["Comparison"]
title(sheet, f"Furniture for {given['place']}", "Prices per piece in EUR, without value added tax")
header = ("Supplier", *(item for item, _ in ITEMS), "Freight", "Total", "Days")
rows = [["Pieces", *pieces, *[None] * 3], *([name, *[None] * 7] for name in SUPPLIERS)]
money = "#,##0.00"
table(sheet, 4, header, rows, (None,) + (money,) * 6, (16, 13, 13, 13, 13, 13, 14, 9))
for cell in sheet["B5:E5"][0]:
    cell.number_format = "General"
budget = book["Budget"]
title(budget, f"Budget for {given['place']}")
table(
    budget,
    3,
    ("Item", "EUR"),
    [["Furniture", 15_000], ["Network", 4_200], ["Painter", 6_800]],
    (None, money),
    (20, 14),
)
save_workbook(book, HOME / "Documents" / "comparison.xlsx")
finish("thunar /home/user/Offers", "libreoffice --calc /home/user/Documents/comparison.xlsx")
