"""The tools of every visitor: sign in, search, read about products."""

from __future__ import annotations

from typing import Any

from agentgym.services import ServiceError, reads, writes
from agentgym.services.arguments import Email, Limit, Offset, search_words

from .rules import PRODUCT, _Rules, secret
from .shapes import Account, Cents, Facet, Found, Line, Product, Review, Sort, Stars

_ORDERS = {
    "relevance": "coalesce(r.reviews, 0) DESC, p.id",
    "price": "p.price_cents, p.id",
    "price_down": "p.price_cents DESC, p.id",
    "stars": "coalesce(r.stars, 0) DESC, coalesce(r.reviews, 0) DESC, p.id",
    "newest": "p.updated_at DESC, p.id DESC",
}
_FACETS = {"category": "c.name", "brand": "p.brand", "colour": "p.colour"}


class Browsing(_Rules):
    """The tools of visitors."""

    @reads
    def log_in(self, email: str, password: str) -> Account:
        """Return the account of an address, if the password is right.

        Args:
            email: E-mail address of the account.
            password: Its password.
        """
        row = self.db.one(
            "SELECT id FROM shop_account WHERE lower(email) = lower(?) AND secret = ?",
            email.strip(),
            secret(email.strip(), password),
        )
        if row is None:
            raise ServiceError("forbidden", "address or password is wrong", "password")
        return self._account(row["id"])

    @writes
    def register(self, email: Email, name: Line, password: Line) -> Account:
        """Open a customer's account.

        Args:
            email: E-mail address.
            name: Given name and family name.
            password: At least eight characters.
        """
        if len(password) < 8:
            raise ServiceError("invalid", "choose at least eight characters", "password")
        if self.db.value("SELECT 1 FROM shop_account WHERE lower(email) = lower(?)", email):
            raise ServiceError("conflict", "this address has an account already", "email")
        values = {"email": email, "name": name, "secret": secret(email, password)}
        number = self.db.insert("shop_account", **values, role="customer", created_at=self.now)
        return self._account(number)

    @reads
    def get_account(self, account: int) -> Account:
        """Show an account.

        Args:
            account: Number of the account.
        """
        return self._account(account)

    @reads
    def search(
        self,
        text: str = "",
        category: str | None = None,
        brand: str | None = None,
        colour: str | None = None,
        least_cents: Cents | None = None,
        most_cents: Cents | None = None,
        stars: Stars | None = None,
        in_stock: bool = False,
        sort: Sort = "relevance",
        limit: Limit = 24,
        offset: Offset = 0,
    ) -> Found:
        """Find products for sale; all conditions must hold.

        Args:
            text: Words that title, brand, description or article number contain.
            category: Only products of this category.
            brand: Only products of this brand, as it is written.
            colour: Only products of this colour.
            least_cents: Only products at this price or more.
            most_cents: Only products at this price or less.
            stars: Only products with at least so many stars on average.
            in_stock: Only products that are in stock.
            sort: Order of the results.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        where, values = ["p.status = 'active'"], list[Any]()
        for word in search_words(text):
            all_texts = "lower(p.title || ' ' || p.brand || ' ' || p.description || ' ' || p.sku)"
            where.append(f"instr({all_texts}, lower(?))")
            values.append(word)
        conditions = {
            "c.name = ?": category,
            "p.brand = ?": brand,
            "p.colour = ?": colour,
            "p.price_cents >= ?": least_cents,
            "p.price_cents <= ?": most_cents,
            "r.stars >= ?": stars,
            "p.stock >= ?": 1 if in_stock else None,
        }
        for condition, value in conditions.items():
            if value is not None:
                where.append(condition)
                values.append(value)
        clause = f"{PRODUCT} WHERE {' AND '.join(where)}"
        total = self.db.value(f"SELECT count(*) FROM ({clause})", *values)
        products = self.db.all(
            f"{clause} ORDER BY {_ORDERS[sort]} LIMIT ? OFFSET ?", *values, limit, offset
        )
        return {"total": total, "products": products, "facets": self._facets(where, values)}

    def _facets(self, where: list[str], values: list[Any]) -> list[Facet]:
        found: list[Facet] = []
        for kind, column in _FACETS.items():
            found += self.db.all(
                f"SELECT '{kind}' AS kind, {column} AS value, count(*) AS products"
                " FROM shop_product p JOIN shop_category c ON c.id = p.category_id"
                " LEFT JOIN shop_rating r ON r.product_id = p.id"
                f" WHERE {' AND '.join(where)} AND {column} <> ''"
                " GROUP BY 2 ORDER BY 3 DESC, 2 LIMIT 12",
                *values,
            )
        return found

    @reads
    def get_product(self, product: int) -> Product:
        """Show a product that is or was for sale.

        Args:
            product: Number of the product.
        """
        return self._product(product, for_sale=True)

    @reads
    def list_reviews(self, product: int) -> list[Review]:
        """List the published reviews of a product, the newest first.

        Args:
            product: Number of the product.
        """
        self._product(product, for_sale=True)
        return self._reviews("v.product_id = ? AND v.status = 'published'", product)
