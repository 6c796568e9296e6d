"""Writes the list: some of it is in the catalogue, one line is corrected and one withdrawn."""

import json

NAMES = {"Lamps": "Lighting", "Bathroom": "Bath", "Outdoor": "Camping"}
KINDS = {
    "Lamps": ("Wall lamp", "Table lamp"),
    "Bathroom": ("Towel rail", "Toothbrush mug"),
    "Outdoor": ("Enamel mug", "Hammock"),
    "Kitchen": ("Egg timer", "Salt mill"),
    "Garden": ("Dibber", "Rain gauge"),
    "Office": ("Pen pot", "Bookend"),
}
BRANDS = ("Nordlys", "Kestra", "Tamaris", "Sundial")
COLOURS = ("black", "white", "oak", "sage", "navy", "grey")


def change(context):
    """Draw nine lines and what is noted below them."""
    db, rng, times = context.db, context.rng, context.params["margin"]["times"]
    kinds = rng.sample([(name, kind) for name, both in KINDS.items() for kind in both], 7)
    numbers = rng.sample(range(2101, 2990), 7)
    items = []
    for (category, kind), number in zip(kinds, numbers, strict=True):
        brand = rng.choice(BRANDS)
        title = f"{kind} {brand} {rng.choice(('small', 'large', 'classic'))}"
        sku = f"{category[:2].upper()}-{number}"
        items.append([sku, title, brand, category, rng.choice(COLOURS), rng.randint(10, 80) * 50])
    known = [
        [
            p["sku"],
            p["title"].strip(),
            p["brand"],
            p["category"],
            p["colour"],
            p["price_cents"] // 2,
        ]
        for p in rng.sample(_products(db), 2)
    ]
    withdrawn, corrected = items[0], items[1]
    lines = [*items, *known]
    rng.shuffle(lines)
    body = "Article; title; brand; category; colour; price in euros\n\n" + "\n".join(
        map(_line, lines)
    )
    corrected[5] += 250
    body += (
        f"\n\nThey have called: {withdrawn[0]} is not made any more, leave it out."
        f"\nAnd {corrected[0]} costs {corrected[5] / 100:.2f}, not what it says above."
    )
    db.insert(
        "forum_draft",
        user_id=4,
        board_id=1,
        title="New from the supplier",
        body=body,
        updated_at="2026-03-01T16:05:00Z",
    )
    wanted = {i[0]: [*i[1:5], i[5] * times // 10] for i in items if i is not withdrawn}
    context.gold("wanted.json", json.dumps(wanted))


def _products(db):
    return db.all(
        "SELECT p.*, c.name AS category FROM shop_product p JOIN shop_category c"
        " ON c.id = p.category_id WHERE p.status = 'active' AND p.stock > 3 AND p.colour <> ''"
        " ORDER BY p.id"
    )


def _line(item):
    sku, title, brand, category, colour, cents = item
    return f"{sku}; {title}; {brand}; {NAMES.get(category, category)}; {colour}; {cents / 100:.2f}"
