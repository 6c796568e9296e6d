"""The shop: its catalogue, carts, orders, returns and reviews, and what its staff do with them.

Staff have a role: clerks work on orders, returns and reviews, editors on the catalogue, managers on
everything. Every tool names the account that acts, and checks what it may do.
"""

from __future__ import annotations

import random
import re
from typing import Any

from agentgym.services import ServiceError, reads, writes
from agentgym.services.arguments import Limit, Offset, search_words

from .media import Media
from .rules import PRODUCT
from .seeding import fill
from .shapes import (
    Cents,
    Found,
    Imported,
    Line,
    Order,
    OrderStatus,
    Product,
    Products,
    Return,
    Review,
    Row,
    Rows,
    Status,
    Text,
)

_NEXT = {
    "paid": ("packed", "cancelled"),
    "packed": ("shipped", "cancelled"),
    "shipped": ("delivered",),
}


class Shop(Media):
    """A shop with two faces: customers and staff."""

    seen = {
        "shop_product": (
            *("title", "description", "brand", "colour", "price_cents", "stock", "status"),
        ),
        "shop_picture": ("product_id", "file", "alt"),
        "shop_order": ("status",),
        "shop_return": ("order_id", "product_id", "status", "reason", "note"),
        "shop_review": ("product_id", "status", "stars", "text"),
    }

    def fill(self, rng: random.Random) -> None:
        """Make the catalogue, accounts and a year of orders."""
        fill(self, rng)

    # --- catalogue ---------------------------------------------------------------------------

    @reads
    def list_products(
        self,
        account: int,
        text: str = "",
        status: Status | None = None,
        category: str | None = None,
        low_stock: bool = False,
        unpictured: bool = False,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> Found:
        """List products in every status, for staff; sorted by article number.

        Args:
            account: Number of the account that asks.
            text: Words that title, brand or article number contain.
            status: Only products in this status.
            category: Only products of this category.
            low_stock: Only products of which fewer than five are in stock.
            unpictured: Only products without a picture.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        self._staff(account, "editor", "clerk")
        where, values = ["1"], list[Any]()
        for word in search_words(text):
            where.append("instr(lower(p.title || ' ' || p.brand || ' ' || p.sku), lower(?))")
            values.append(word)
        for condition, value in (("p.status = ?", status), ("c.name = ?", category)):
            if value is not None:
                where.append(condition)
                values.append(value)
        if low_stock:
            where.append("p.stock < 5")
        if unpictured:
            where.append("p.id NOT IN (SELECT product_id FROM shop_cover)")
        clause = f"{PRODUCT} WHERE {' AND '.join(where)}"
        total = self.db.value(f"SELECT count(*) FROM ({clause})", *values)
        found = self.db.all(f"{clause} ORDER BY p.sku LIMIT ? OFFSET ?", *values, limit, offset)
        return {"total": total, "products": found, "facets": []}

    @writes
    def save_product(
        self,
        account: int,
        sku: Line,
        title: Line,
        brand: Text,
        category: Line,
        colour: Text,
        price_cents: Cents,
        stock: Cents,
        description: Text = "",
        product: int | None = None,
        version: int | None = None,
    ) -> Product:
        """Make a product as a draft, or change one.

        Args:
            account: Number of the account that acts.
            sku: Article number, unique.
            title: Title.
            brand: Brand; may be empty.
            category: Name of its category.
            colour: Colour; may be empty.
            price_cents: Price in cents.
            stock: How many are there.
            description: Description.
            product: Number of the product to change; a new one if left out.
            version: The version that was seen; refused if the product has changed since.
        """
        self._staff(account, "editor")
        number = self.db.value("SELECT id FROM shop_category WHERE name = ?", category)
        if number is None:
            raise ServiceError("not_found", f"no category {category!r}", "category")
        other = self.db.value("SELECT id FROM shop_product WHERE sku = ?", sku)
        if other is not None and other != product:
            raise ServiceError("conflict", f"product {other} has this number", "sku")
        values = {"sku": sku, "title": title, "brand": brand, "category_id": number}
        values |= {"colour": colour, "price_cents": price_cents, "stock": stock}
        values["description"] = description
        if product is None:
            made = self.db.insert("shop_product", **values, status="draft", updated_at=self.now)
            return self._product(made)
        before = self._product(product)
        if version is not None and version != before["version"]:
            raise ServiceError(
                "conflict", f"somebody has saved version {before['version']} meanwhile", "version"
            )
        if before["status"] == "active" and not price_cents:
            raise ServiceError("invalid", "a product for sale needs a price", "price_cents")
        self._change(product, **values)
        return self._product(product)

    @writes
    def set_status(self, account: int, products: Products, status: Status) -> int:
        """Put products on sale, into the archive, or back among the drafts, all or none.

        Args:
            account: Number of the account that acts.
            products: Numbers of the products.
            status: The new status.
        """
        self._staff(account, "editor")
        for number in products:
            product = self._product(number)
            if status == "active" and not product["price_cents"]:
                raise ServiceError("conflict", f"{product['sku']} has no price", "products")
            self._change(number, status=status)
        return len(products)

    @writes
    def change_prices(self, account: int, products: Products, percent: int) -> int:
        """Raise or lower prices by a percentage, rounded to whole cents; for managers.

        Args:
            account: Number of the account that acts.
            products: Numbers of the products.
            percent: Percent, from -90 to 200.
        """
        self._staff(account)
        if not -90 <= percent <= 200:
            raise ServiceError("invalid", "expected -90 to 200", "percent")
        for number in products:
            price = self._product(number)["price_cents"]
            self._change(number, price_cents=(price * (100 + percent) + 50) // 100)
        return len(products)

    @writes
    def import_products(self, account: int, rows: Rows) -> Imported:
        """Add and change products by article number; new ones are drafts.

        Nothing is imported if a row is wrong.

        Args:
            account: Number of the account that acts.
            rows: The products, each as article number, title, brand, category, colour, price
                such as 12.50, and stock.
        """
        self._staff(account, "editor")
        categories = {
            row["name"]: row["id"] for row in self.db.all("SELECT id, name FROM shop_category")
        }
        errors = [
            f"row {number}: {problem}"
            for number, row in enumerate(rows, 1)
            for problem in _problems(row, categories)
        ]
        numbers = [row[0] for row in rows]
        errors += [
            f"{sku}: it occurs twice" for sku in sorted({*numbers}) if numbers.count(sku) > 1
        ]
        if errors:
            return {"added": 0, "changed": 0, "errors": errors[:50]}
        added = changed = 0
        for row in rows:
            sku, title, brand, category, colour, price, stock = row
            values: dict[str, Any] = {"title": title, "brand": brand, "colour": colour}
            values |= {"category_id": categories[category], "stock": int(stock)}
            values["price_cents"] = _cents(price)
            known = self.db.value("SELECT id FROM shop_product WHERE sku = ?", sku)
            if known is None:
                values |= {"sku": sku, "status": "draft", "updated_at": self.now}
                self.db.insert("shop_product", **values)
                added += 1
            else:
                self._change(known, **values)
                changed += 1
        return {"added": added, "changed": changed, "errors": []}

    # --- orders, returns, reviews ------------------------------------------------------------

    @reads
    def find_orders(
        self,
        account: int,
        text: str = "",
        status: OrderStatus | None = None,
        limit: Limit = 50,
        offset: Offset = 0,
    ) -> list[Order]:
        """List orders, for staff, the newest first.

        Args:
            account: Number of the account that asks.
            text: Number of an order, or part of a customer's address or name.
            status: Only orders in this status.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        self._staff(account, "clerk")
        numbers = self.db.column(
            "SELECT o.id FROM shop_order o JOIN shop_account a ON a.id = o.account_id"
            " WHERE (?1 IS NULL OR o.status = ?1) AND (?2 = '' OR cast(o.id AS TEXT) = ?2"
            " OR instr(lower(a.email || ' ' || o.name), lower(?2)))"
            " ORDER BY o.placed_at DESC, o.id DESC LIMIT ?3 OFFSET ?4",
            status,
            text.strip(),
            limit,
            offset,
        )
        return [self._order(number) for number in numbers]

    @writes
    def set_order_status(self, account: int, order: int, status: OrderStatus) -> Order:
        """Move an order on: paid, packed, shipped, delivered; or cancel it before it is shipped.

        Args:
            account: Number of the account that acts.
            order: Number of the order.
            status: The next status.
        """
        self._staff(account, "clerk")
        before = self._order(order)["status"]
        if status not in _NEXT.get(before, ()):
            raise ServiceError("conflict", f"order {order} is {before}", "status")
        if status == "cancelled":
            return self.cancel_order(account, order)
        self.db.execute("UPDATE shop_order SET status = ? WHERE id = ?", status, order)
        return self._order(order)

    @reads
    def list_returns(self, account: int, waiting: bool = True) -> list[Return]:
        """List returns, for staff.

        Args:
            account: Number of the account that asks.
            waiting: Only those without a decision.
        """
        self._staff(account, "clerk")
        return self._returns("r.status = 'requested' OR NOT ?", waiting)

    @writes
    def decide_return(self, account: int, number: int, approve: bool, note: Text = "") -> Return:
        """Approve or refuse a return; approved goods are in stock again.

        Args:
            account: Number of the account that acts.
            number: Number of the return.
            approve: Whether it is approved.
            note: What the customer is told.
        """
        self._staff(account, "clerk")
        found = self._returns("r.id = ?", number)
        if not found:
            raise ServiceError("not_found", f"no return {number}", "number")
        if found[0]["status"] != "requested":
            raise ServiceError("conflict", f"return {number} is {found[0]['status']}", "number")
        if not approve and not note.strip():
            raise ServiceError("invalid", "say why it is refused", "note")
        status = "approved" if approve else "refused"
        self.db.execute(
            "UPDATE shop_return SET status = ?, note = ? WHERE id = ?", status, note, number
        )
        if approve:
            self._restock(found[0]["product"], found[0]["quantity"])
        return self._returns("r.id = ?", number)[0]

    @reads
    def find_reviews(self, account: int, text: str = "") -> list[Review]:
        """List reviews, for staff, the newest first.

        Args:
            account: Number of the account that asks.
            text: What the text or the product's title contains.
        """
        self._staff(account, "clerk")
        return self._reviews("instr(lower(v.text || ' ' || p.title), lower(?))", text.strip())

    @writes
    def show_review(self, account: int, review: int, shown: bool) -> Review:
        """Publish or hide a review.

        Args:
            account: Number of the account that acts.
            review: Number of the review.
            shown: Whether customers see it.
        """
        self._staff(account, "clerk")
        status = "published" if shown else "hidden"
        done = self.db.execute("UPDATE shop_review SET status = ? WHERE id = ?", status, review)
        if not done.rowcount:
            raise ServiceError("not_found", f"no review {review}", "review")
        return self._reviews("v.id = ?", review)[0]

    def _change(self, product: int, **values: Any) -> None:
        sets = "".join(f"{column} = ?, " for column in values)
        self.db.execute(
            f"UPDATE shop_product SET {sets}version = version + 1, updated_at = ? WHERE id = ?",
            *values.values(),
            self.now,
            product,
        )


def _problems(row: Row, categories: dict[str, int]) -> list[str]:
    sku, title, _, category, _, price, stock = row
    found = []
    if not sku.strip() or not title.strip():
        found.append("sku and title are needed")
    if category not in categories:
        found.append(f"no category {category[:40]!r}")
    if not re.fullmatch(r"\d{1,6}([.,]\d{1,2})?", price.strip(), re.ASCII):
        found.append(f"price: expected a number such as 12.50, got {price[:20]!r}")
    if not re.fullmatch(r"\d{1,6}", stock.strip(), re.ASCII):
        found.append(f"stock: expected a whole number, got {stock[:20]!r}")
    return found


def _cents(text: str) -> int:
    whole, _, part = text.strip().replace(",", ".").partition(".")
    return int(whole) * 100 + int((part + "00")[:2])
