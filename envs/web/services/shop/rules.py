"""Rules of the shop that its tools share: who may do what, prices, and results."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from agentgym.services import Service, ServiceError

from .shapes import Account, Order, Product

DELIVERY_CENTS: Final = {"standard": 490, "express": 1290, "pickup": 0}
FREE_FROM_CENTS: Final = 7500
"""Standard delivery costs nothing from this value of goods on."""

PRODUCT: Final = """
SELECT p.id, p.sku, p.title, p.description, p.brand, c.name AS category, p.category_id, p.colour,
  p.price_cents, p.stock, p.status, p.version, p.updated_at, r.stars,
  coalesce(r.reviews, 0) AS reviews
FROM shop_product p JOIN shop_category c ON c.id = p.category_id
LEFT JOIN shop_rating r ON r.product_id = p.id
"""


def secret(email: str, password: str) -> str:
    """Return the form in which a password is stored."""
    return hashlib.sha256(f"shop:{email.lower()}:{password}".encode()).hexdigest()


class _Rules(Service):
    """Rules and lookups that the tools share."""

    def _account(self, number: int) -> Account:
        row = self.db.one(
            "SELECT id, email, name, role, street, city, postcode, country FROM shop_account"
            " WHERE id = ?",
            number,
        )
        if row is None:
            raise ServiceError("forbidden", "sign in first", "account")
        return row  # type: ignore[return-value]

    def _staff(self, number: int, *roles: str) -> Account:
        account = self._account(number)
        if account["role"] != "manager" and account["role"] not in roles:
            needed = " or ".join(roles) or "manager"
            raise ServiceError(
                "forbidden", f"this needs the role {needed}, and yours is {account['role']}"
            )
        return account

    def _product(self, number: int, *, for_sale: bool = False) -> Product:
        row = self.db.one(f"{PRODUCT} WHERE p.id = ?", number)
        if row is None or (for_sale and row["status"] == "draft"):
            raise ServiceError("not_found", f"no product {number}", "product")
        return row  # type: ignore[return-value]

    def _order(self, number: int) -> Order:
        row = self.db.one(
            "SELECT o.*, o.account_id AS account, a.email FROM shop_order o"
            " JOIN shop_account a ON a.id = o.account_id WHERE o.id = ?",
            number,
        )
        if row is None:
            raise ServiceError("not_found", f"no order {number}", "order")
        row.pop("account_id")
        lines = self.db.all(
            "SELECT product_id AS product, title, price_cents, quantity FROM shop_order_line"
            " WHERE order_id = ? ORDER BY product_id",
            number,
        )
        return {**row, "lines": lines, "returns": self._returns("r.order_id = ?", number)}  # type: ignore[typeddict-item]

    def _returns(self, condition: str, *values: Any) -> Any:
        return self.db.all(
            'SELECT r.id, r.order_id AS "order", r.product_id AS product, l.title, r.quantity,'
            " r.reason, r.status, r.note, r.created_at FROM shop_return r"
            " JOIN shop_order_line l ON l.order_id = r.order_id AND l.product_id = r.product_id"
            f" WHERE {condition} ORDER BY r.id",
            *values,
        )

    def _reviews(self, condition: str, *values: Any) -> Any:
        return self.db.all(
            "SELECT v.id, v.product_id AS product, p.title, a.name AS author, v.stars, v.text,"
            " v.status, v.created_at FROM shop_review v JOIN shop_account a ON a.id = v.account_id"
            f" JOIN shop_product p ON p.id = v.product_id WHERE {condition}"
            " ORDER BY v.created_at DESC, v.id DESC LIMIT 100",
            *values,
        )

    def _problem(self, product: Product, quantity: int) -> str:
        """Return the reason why so many of a product cannot be ordered; empty if they can."""
        if product["status"] != "active":
            return "no longer available"
        if product["stock"] < quantity:
            return f"only {product['stock']} in stock" if product["stock"] else "out of stock"
        return ""

    def _restock(self, product: int, quantity: int) -> None:
        self.db.execute("UPDATE shop_product SET stock = stock + ? WHERE id = ?", quantity, product)
