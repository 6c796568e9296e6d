"""Adds orders of one product to several towns, none of them shipped but one."""

TOWNS = (
    ("Hamburg", "20095", "Germany", "Hauptstr. 3"),
    ("Wien", "1010", "Austria", "Parkweg 18"),
    ("Lyon", "69001", "France", "Rue Verte 41"),
    ("Gent", "9000", "Belgium", "Veldstraat 52"),
    ("Malmö", "21120", "Sweden", "Storgatan 7"),
)


def change(context):
    """Place them within one evening, in an order that is drawn."""
    product = context.db.one(
        "SELECT id, title, price_cents FROM shop_product WHERE id = ?", context.params["product"]
    )
    towns = list(TOWNS)
    context.rng.shuffle(towns)
    for place, (city, postcode, country, street) in enumerate(towns):
        order = context.db.insert(
            "shop_order",
            account_id=1,
            status="shipped" if city == "Malmö" else ("paid", "packed")[place % 2],
            placed_at=f"2026-02-28T19:{10 + 4 * place}:00Z",
            name="Nora Winter",
            street=street,
            city=city,
            postcode=postcode,
            country=country,
            delivery="standard",
            delivery_cents=490,
            total_cents=product["price_cents"] + 490,
        )
        context.db.insert(
            "shop_order_line",
            order_id=order,
            product_id=product["id"],
            title=product["title"],
            price_cents=product["price_cents"],
            quantity=1,
        )
