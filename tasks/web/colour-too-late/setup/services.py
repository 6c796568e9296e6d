"""Places two orders of the same product: the wrong one has left, the other one has not."""


def change(context):
    """Write both, with other numbers of pieces."""
    item, meant = context.params["item"], context.params["order"]
    (product,) = context.db.all("SELECT * FROM shop_product WHERE id = ?", item["product"])
    count = context.rng.randint(1, 4)
    orders = (
        (meant["number"], meant["date"], context.params["status"], count),
        (meant["other"], meant["later"], "paid", count),
    )
    for number, day, status, many in orders:
        context.db.insert(
            "shop_order",
            id=number,
            account_id=1,
            status=status,
            placed_at=f"{day}T1{context.rng.randint(0, 9)}:20:00Z",
            name="Nora Winter",
            street="Lindenallee 12",
            city="Berlin",
            postcode="10115",
            country="Germany",
            delivery="standard",
            delivery_cents=490,
            total_cents=many * product["price_cents"] + 490,
        )
        context.db.insert(
            "shop_order_line",
            order_id=number,
            product_id=product["id"],
            title=product["title"],
            price_cents=product["price_cents"],
            quantity=many,
        )
