"""Slides with prices, and a newer list of them; two articles cost the same until one changes."""

import random

from documents import HOME, finish, gold, new_workbook, parameters, save_workbook, table, title
from slides import save_slides

SECTIONS = {
    "Desks": ("Desk Nord 140", "Desk Nord 160", "Standing desk Lift", "Corner desk Vesta"),
    "Chairs": ("Office chair Alba", "Office chair Alba Plus", "Visitor chair Milo", "Stool Pico"),
    "Storage": ("Cupboard Holm", "Shelf Holm", "Drawer unit Ask", "Coat stand Birk"),
}
MORE = ("Desk lamp Lux", "Footrest Pad", "Conference table Forum")
given = parameters()
draw = random.Random(given["seed"])
items = [item for names in SECTIONS.values() for item in names]
cents = {item: draw.randrange(60, 900) * 100 + draw.choice((0, 50, 90)) for item in items}
cents["Standing desk Lift"] = draw.randrange(1_050, 1_400) * 100
# One article of each of these pairs changes its price, the other one keeps it.
twins = draw.choice((("Desk Nord 160", "Cupboard Holm"), ("Corner desk Vesta", "Shelf Holm")))
cents[twins[1]] = cents[twins[0]]
limit = draw.choice(SECTIONS["Chairs"])
changed = {draw.choice(twins), limit}
changed |= set(draw.sample([item for item in items if item not in (*twins, limit)], 3))
new = dict(cents)
for item in sorted(changed):
    new[item] += draw.choice((-1, 1)) * draw.randrange(5, 45) * 100 + 50


def shown(amount):
    return f"{amount / 100:,.2f}"


def deck(prices):
    """Return the slides with these prices; the limit on the last one is no price."""
    made = [{"title": "Furniture for your office", "subtitle": "Fairlead Interiors, Leeds"}]
    for section, names in SECTIONS.items():
        points = [f"{name}: {shown(prices[name])} EUR" for name in names]
        made.append({"title": section, "points": points})
    made.append(
        {
            "title": "How we deliver",
            "points": [
                f"Free from an order of {shown(cents[limit])} EUR",
                "Set up on the day that you choose",
            ],
        }
    )
    return made


save_slides(HOME / "Sales" / "furniture.pptx", "Furniture", deck(cents))
gold("deck.json", deck(new))
rows = [[item, new[item] / 100] for item in items]
rows += [[item, draw.randrange(2_000, 9_000) / 10] for item in MORE]
draw.shuffle(rows)
book = new_workbook("Prices")
sheet = book["Prices"]
title(sheet, f"Prices, {given['season']} 2026", "In EUR, with value added tax")
table(sheet, 4, ("Article", "Price"), rows, (None, "#,##0.00"), (28, 14))
save_workbook(book, HOME / "Sales" / "prices.xlsx")
finish(
    "libreoffice --calc /home/user/Sales/prices.xlsx",
    "libreoffice --impress /home/user/Sales/furniture.pptx",
)
