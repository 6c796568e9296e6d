"""Makes a cheaper product of the same kind look good, of which too few are in stock."""


def change(context):
    """Give it a second good review, and seven pieces."""
    trap = context.params["wanted"]["trap"]
    context.db.execute("UPDATE shop_product SET stock = 7 WHERE id = ?", trap)
    reviewers = "SELECT account_id FROM shop_review WHERE product_id = ?1"
    account = f"SELECT min(id) FROM shop_account WHERE id > 30 AND id NOT IN ({reviewers})"
    context.db.execute(
        "INSERT INTO shop_review (product_id, account_id, stars, text, status, created_at)"
        f" VALUES (?1, ({account}), 5, ?2, 'published', '2026-02-11T18:20:00Z')",
        trap,
        "Have had it for a month and like it every day.",
    )
