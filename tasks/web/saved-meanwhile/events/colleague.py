"""Mara books a delivery and writes a description while the page is open."""


def change(context):
    """Save the product once more, in her name."""
    context.db.execute(
        "UPDATE shop_product SET stock = stock + 31, version = version + 1,"
        " description = description || ' New delivery in March.' WHERE id = ?",
        context.params["item"]["product"],
    )
