"""Gives Nora orders in all states; three of them can be moved to the new address."""

GOOD = (
    "SELECT * FROM shop_product WHERE status = 'active' AND stock BETWEEN 8 AND 60"
    " AND title = trim(title) AND price_cents > 0 ORDER BY id"
)
CARDS = ("Happy birthday, Owen!", "For the long evenings. Nora", "Sorry that it took so long.")
OLD = ("Nora Winter", "Lindenallee 12", "10115", "Berlin", "Germany")
FRIEND = ("Priya Iyer", "Hauptstr. 3", "20095", "Hamburg", "Germany")


def change(context):
    """Draw the goods; let the shop be sold out of one thing but for what Nora has ordered."""
    db, rng = context.db, context.rng
    # Her earlier orders have all arrived.
    db.execute("UPDATE shop_order SET status = 'delivered' WHERE account_id = 1")
    goods = rng.sample(db.all(GOOD), 11)
    card = rng.choice(CARDS)
    plans = [
        ("paid", OLD, "standard", "", 2),
        ("packed", OLD, "express", card, 1),
        ("paid", OLD, "standard" if rng.random() < 0.5 else "express", "", 2),
        ("paid", FRIEND, "standard", "Welcome home!", 1),
        ("shipped", OLD, "standard", "", 2),
        ("paid", OLD, "pickup", "", 1),
        ("cancelled", OLD, "express", "", 1),
    ]
    rng.shuffle(plans)
    for place, (status, address, delivery, note, many) in enumerate(plans):
        lines = [(goods.pop(), rng.randint(1, 3)) for _ in range(many)]
        _place(
            db,
            1301 + place,
            f"2026-02-2{place + 1}T15:1{place}:00Z",
            status,
            address,
            delivery,
            note,
            lines,
        )
        if status == "packed":
            db.execute("UPDATE shop_product SET stock = 0 WHERE id = ?", lines[0][0]["id"])


def _place(db, number, at, status, address, delivery, note, lines):
    worth = sum(product["price_cents"] * count for product, count in lines)
    name, street, postcode, city, country = address
    db.insert(
        "shop_order",
        id=number,
        account_id=1,
        status=status,
        placed_at=at,
        name=name,
        street=street,
        postcode=postcode,
        city=city,
        country=country,
        delivery=delivery,
        gift_note=note,
        delivery_cents=0,
        total_cents=worth,
    )
    for product, count in lines:
        db.insert(
            "shop_order_line",
            order_id=number,
            product_id=product["id"],
            title=product["title"],
            price_cents=product["price_cents"],
            quantity=count,
        )
