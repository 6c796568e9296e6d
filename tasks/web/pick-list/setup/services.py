"""Archives a product of three paid orders."""


def change(context):
    """Choose orders of moderate value."""
    orders = context.db.column(
        "SELECT id FROM shop_order WHERE status = 'paid' AND total_cents < 20000"
        " AND placed_at < '2026-02-26' ORDER BY id"
    )
    for order in context.rng.sample(orders, 3):
        product = context.db.value(
            "SELECT max(product_id) FROM shop_order_line WHERE order_id = ?", order
        )
        context.db.execute("UPDATE shop_product SET status = 'archived' WHERE id = ?", product)
