"""Gives the sold out products of a category reviews of all kinds, some just around the limit."""

AROUND = {3: ((3, 3, 2), (2, 4, 3), (5, 1, 2, 3)), 4: ((4, 4, 3), (4, 5, 3), (5, 3, 4, 3))}
"""Stars for each limit: just below it though rounded up to it, at the limit, and below it."""
BAD, GOOD = (1, 2, 2), (5, 5, 4)


def change(context):
    """Deal the kinds out, at least one of each."""
    db, rng, params = context.db, context.rng, context.params
    products = db.column(
        "SELECT p.id FROM shop_product p JOIN shop_category c ON c.id = p.category_id"
        " WHERE c.name = ? AND p.status = 'active' AND p.stock = 0 ORDER BY p.id",
        params["category"],
    )
    accounts = db.column(
        "SELECT id FROM shop_account WHERE role = 'customer' AND id > 9 ORDER BY id"
    )
    rng.shuffle(products)
    below, at, mixed = AROUND[params["stars"]]
    # The stars that are published, and those that are hidden.
    kinds = [(below, ()), (at, ()), (mixed, ()), (BAD, ()), (GOOD, ()), ((1,), ()), ((), ())]
    kinds += [(at, (1, 1, 1)), ((1, 2), (5, 5, 5, 5)), (BAD, (5,))]
    for place, product in enumerate(products):
        shown, hidden = kinds[place] if place < len(kinds) else rng.choice(kinds)
        db.execute("DELETE FROM shop_review WHERE product_id = ?", product)
        stars = [(n, "published") for n in shown] + [(n, "hidden") for n in hidden]
        for (n, status), account in zip(stars, rng.sample(accounts, len(stars)), strict=True):
            db.insert(
                "shop_review",
                product_id=product,
                account_id=account,
                stars=n,
                text="Would buy it again." if n > 3 else "It looks better in the picture.",
                status=status,
                created_at=f"2026-02-{rng.randint(10, 27)}T10:00:00Z",
            )
