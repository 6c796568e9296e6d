"""Fills Nora's basket: two things are gone by now, of two there are too few, two are there."""

GOOD = (
    "SELECT min(id) FROM shop_product WHERE status = 'active' AND stock BETWEEN 9 AND 60"
    " AND title = trim(title) AND price_cents BETWEEN 700 AND 8000"
    " GROUP BY lower(title) HAVING count(*) = 1 ORDER BY 1"
)


def change(context):
    """Draw the products, how many of each are wanted, and what has become of them."""
    db, rng = context.db, context.rng
    db.execute("DELETE FROM shop_cart_line WHERE account_id = 1")
    chosen = rng.sample(db.column(GOOD), 6)
    counts = [rng.randint(3, 6) for _ in chosen]
    for product, count in zip(chosen, counts, strict=True):
        db.insert("shop_cart_line", account_id=1, product_id=product, quantity=count)
    gone, sold_out, few, one, *_ = chosen
    db.execute("UPDATE shop_product SET status = 'archived' WHERE id = ?", gone)
    left = {sold_out: 0, few: counts[2] - 1, one: 1}
    for product, stock in left.items():
        db.execute("UPDATE shop_product SET stock = ? WHERE id = ?", stock, product)
