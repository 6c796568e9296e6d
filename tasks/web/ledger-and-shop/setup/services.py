"""Places the orders of a year, and a list of them with mistakes."""

import json

GOODS = (
    "SELECT id, title, price_cents FROM shop_product WHERE status = 'active' AND price_cents > 0"
    " ORDER BY id"
)
NOTES = ("paid by card", "kitchen", "see the mail of March", "for the fair", "")


def change(context):
    """Draw the orders and the mistakes: each kind at least once."""
    db, rng, year = context.db, context.rng, context.params["year"]
    goods = db.all(GOODS)
    # What the account has ordered in 2025 otherwise is of another year here.
    db.execute(
        "UPDATE shop_order SET placed_at = replace(placed_at, '2025-', '2023-')"
        " WHERE account_id = 1"
    )
    other = 2024 if year == 2025 else 2025
    for number, month in ((1381, 12), (1382, 1), (1383, 6)):
        _order(db, rng, goods, number, f"{other}-{month:02}-{rng.randint(10, 28)}")
    orders = [
        _order(db, rng, goods, 1351 + place, f"{year}-{place + 1:02}-{rng.randint(1, 28):02}")
        for place in range(12)
    ]
    orders.sort(key=lambda order: order[1])
    lines = [[*order, rng.choice(NOTES)] for order in orders]
    missing = sorted(rng.sample(range(12), 2))
    there = [line for place, line in enumerate(lines) if place not in missing]
    # A line about an order of another year, and one of somebody else.
    there.insert(rng.randint(1, 8), [1382, f"{year}-06-30", 48.8, "delivered", "twice?"])
    there.insert(
        rng.randint(1, 8), [rng.choice((612, 733)), f"{year}-09-12", 99.9, "delivered", ""]
    )
    wanted = [list(line) for line in there]
    for line in wanted:
        if line[0] not in [order[0] for order in orders]:
            line[3] = "unknown"
    own = [line for line in there if line[0] in [order[0] for order in orders]]
    for kind, line in zip((1, 2, 2, 3, 3), rng.sample(own, 5), strict=True):
        if kind == 1:
            line[1] = f"{year}-{int(line[1][5:7]) % 12 + 1:02}-{line[1][8:]}"
        elif kind == 2:
            line[2] = round(line[2] + rng.choice((9, -0.9, 100)), 2)
        else:
            line[3] = "shipped" if line[3] == "delivered" else "delivered"
    book = context.call(
        "sheets_create_workbook", name="Orders at Lindenhof", sheets=[str(year), str(year - 1)]
    )
    head = ["Order", "Day", "Total", "Status", "Note"]
    for sheet, rows in (
        (str(year), there),
        (str(year - 1), [[118, f"{year - 1}-05-04", 20.0, "delivered", "old"]]),
    ):
        kept = [[*line[:4], line[4] or None] for line in rows]
        context.call("sheets_append_rows", workbook=book["id"], sheet=sheet, rows=[head, *kept])
    number = context.db.value(
        "SELECT id FROM sheets_sheet WHERE workbook_id = ? AND name = ?", book["id"], str(year)
    )
    added = [lines[place][:4] for place in missing]
    left = {"sheet": number, "lines": [line[:4] for line in wanted], "added": added}
    context.gold("wanted.json", json.dumps(left))


def _order(db, rng, goods, number, day):
    status = "cancelled" if rng.random() < 0.2 else "delivered"
    product, count = rng.choice(goods), rng.randint(1, 3)
    total = product["price_cents"] * count + 490
    db.insert(
        "shop_order",
        id=number,
        account_id=1,
        status=status,
        placed_at=f"{day}T1{rng.randint(0, 5)}:30:00Z",
        name="Nora Winter",
        street="Kastanienallee 71",
        city="Berlin",
        postcode="10435",
        country="Germany",
        delivery="standard",
        delivery_cents=490,
        total_cents=total,
    )
    values = {"order_id": number, "product_id": product["id"], "title": product["title"]}
    db.insert("shop_order_line", **values, price_cents=product["price_cents"], quantity=count)
    return [number, day, total / 100, status]
