"""The tools of customers: cart, checkout, orders, returns, reviews."""

from __future__ import annotations

from agentgym.services import ServiceError, reads, writes
from agentgym.services.arguments import Limit, Offset

from .browsing import Browsing
from .rules import DELIVERY_CENTS, FREE_FROM_CENTS
from .shapes import Cart, Delivery, Line, Order, Quantity, Return, Review, Stars, Text


class Buying(Browsing):
    """The tools of customers; ``account`` is the account that is signed in."""

    @reads
    def get_cart(self, account: int) -> Cart:
        """Show a cart, and what keeps its goods from being ordered.

        Args:
            account: Number of the account.
        """
        self._account(account)
        rows = self.db.all(
            "SELECT product_id, quantity FROM shop_cart_line WHERE account_id = ?"
            " ORDER BY product_id",
            account,
        )
        lines, goods = [], 0
        for row in rows:
            product = self._product(row["product_id"])
            problem = self._problem(product, row["quantity"])
            goods += product["price_cents"] * row["quantity"]
            lines.append(
                {
                    "product": product["id"],
                    "title": product["title"],
                    "price_cents": product["price_cents"],
                    "quantity": row["quantity"],
                    "problem": problem,
                }
            )
        return {"lines": lines, "goods_cents": goods}  # type: ignore[typeddict-item]

    @writes
    def set_cart(self, account: int, product: int, quantity: Quantity) -> Cart:
        """Set how many of a product are in a cart.

        Args:
            account: Number of the account.
            product: Number of the product.
            quantity: How many; 0 takes it out.
        """
        self._account(account)
        shown = self._product(product, for_sale=True)
        if quantity and (problem := self._problem(shown, quantity)):
            raise ServiceError("conflict", f"{shown['title']}: {problem}", "quantity")
        self.db.execute(
            "DELETE FROM shop_cart_line WHERE account_id = ? AND product_id = ?", account, product
        )
        if quantity:
            values = {"account_id": account, "product_id": product, "quantity": quantity}
            self.db.insert("shop_cart_line", **values)
        return self.get_cart(account)

    @writes
    def check_out(
        self,
        account: int,
        name: Line,
        street: Line,
        postcode: Line,
        city: Line,
        country: Line,
        delivery: Delivery,
        voucher: str | None = None,
        gift_note: Text = "",
    ) -> Order:
        """Order everything in the cart; it is paid at once.

        Args:
            account: Number of the account.
            name: Name on the parcel.
            street: Street and number.
            postcode: Postal code.
            city: Town.
            country: Country.
            delivery: How the goods arrive.
            voucher: Code of a voucher.
            gift_note: Text on the card of a gift.
        """
        cart = self.get_cart(account)
        if not cart["lines"]:
            raise ServiceError("conflict", "the cart is empty")
        for line in cart["lines"]:
            if line["problem"]:
                raise ServiceError("conflict", f"{line['title']}: {line['problem']}")
        goods = cart["goods_cents"]
        code, discount = self._voucher(voucher, goods)
        price = DELIVERY_CENTS[delivery]
        if delivery == "standard" and goods - discount >= FREE_FROM_CENTS:
            price = 0
        place = {"name": name, "street": street, "postcode": postcode, "city": city}
        order = self.db.insert(
            "shop_order",
            account_id=account,
            status="paid",
            placed_at=self.now,
            **place,
            country=country,
            delivery=delivery,
            gift_note=gift_note.strip(),
            voucher=code,
            discount_cents=discount,
            delivery_cents=price,
            total_cents=goods - discount + price,
        )
        for line in cart["lines"]:
            self.db.insert(
                "shop_order_line",
                order_id=order,
                product_id=line["product"],
                title=line["title"],
                price_cents=line["price_cents"],
                quantity=line["quantity"],
            )
            self._restock(line["product"], -line["quantity"])
        self.db.execute("DELETE FROM shop_cart_line WHERE account_id = ?", account)
        return self._order(order)

    def _voucher(self, code: str | None, goods: int) -> tuple[str | None, int]:
        if not code:
            return None, 0
        row = self.db.one("SELECT * FROM shop_voucher WHERE upper(code) = upper(?)", code.strip())
        if row is None:
            raise ServiceError("not_found", "this voucher does not exist", "voucher")
        if row["expires_on"] < self.now[:10]:
            raise ServiceError("conflict", f"it was valid until {row['expires_on']}", "voucher")
        if goods < row["least_cents"]:
            least = row["least_cents"] / 100
            raise ServiceError("conflict", f"it needs goods for {least:.2f} or more", "voucher")
        return row["code"], goods * row["percent"] // 100

    @reads
    def list_orders(self, account: int, limit: Limit = 20, offset: Offset = 0) -> list[Order]:
        """List the orders of an account, the newest first.

        Args:
            account: Number of the account.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        self._account(account)
        numbers = self.db.column(
            "SELECT id FROM shop_order WHERE account_id = ? ORDER BY placed_at DESC, id DESC"
            " LIMIT ? OFFSET ?",
            account,
            limit,
            offset,
        )
        return [self._order(number) for number in numbers]

    @reads
    def get_order(self, account: int, order: int) -> Order:
        """Show an order of an account; staff see every order.

        Args:
            account: Number of the account.
            order: Number of the order.
        """
        return self._own_order(account, order)

    def _own_order(self, account: int, order: int) -> Order:
        viewer, shown = self._account(account), self._order(order)
        if shown["account"] != account and viewer["role"] not in ("clerk", "manager"):
            raise ServiceError("not_found", f"no order {order}", "order")
        return shown

    @writes
    def cancel_order(self, account: int, order: int) -> Order:
        """Cancel an order that was not shipped yet.

        Args:
            account: Number of the account.
            order: Number of the order.
        """
        shown = self._own_order(account, order)
        if shown["status"] not in ("paid", "packed"):
            raise ServiceError("conflict", f"order {order} is {shown['status']} already", "order")
        self.db.execute("UPDATE shop_order SET status = 'cancelled' WHERE id = ?", order)
        for line in shown["lines"]:
            self._restock(line["product"], line["quantity"])
        return self._order(order)

    @writes
    def request_return(
        self, account: int, order: int, product: int, quantity: Quantity, reason: Line
    ) -> Return:
        """Ask to return goods of a delivered order.

        Args:
            account: Number of the account.
            order: Number of the order.
            product: Number of the product.
            quantity: How many of it.
            reason: Why.
        """
        shown = self._own_order(account, order)
        if shown["status"] != "delivered":
            raise ServiceError("conflict", f"order {order} is {shown['status']}, not delivered")
        bought = {line["product"]: line["quantity"] for line in shown["lines"]}
        if product not in bought:
            raise ServiceError("not_found", f"order {order} has no product {product}", "product")
        gone = sum(
            each["quantity"]
            for each in shown["returns"]
            if each["product"] == product and each["status"] != "refused"
        )
        if not 1 <= quantity <= bought[product] - gone:
            left = bought[product] - gone
            raise ServiceError("invalid", f"{left} of it can be returned", "quantity")
        values = {"order_id": order, "product_id": product, "quantity": quantity}
        number = self.db.insert(
            "shop_return", **values, reason=reason, status="requested", created_at=self.now
        )
        return self._returns("r.id = ?", number)[0]

    @writes
    def review(self, account: int, product: int, stars: Stars, text: Text) -> Review:
        """Review a product that was delivered to the account; a second review replaces the first.

        Args:
            account: Number of the account.
            product: Number of the product.
            stars: One to five.
            text: What there is to say.
        """
        bought = self.db.value(
            "SELECT 1 FROM shop_order o JOIN shop_order_line l ON l.order_id = o.id"
            " WHERE o.account_id = ? AND l.product_id = ? AND o.status = 'delivered'",
            account,
            product,
        )
        if not bought:
            raise ServiceError("forbidden", "only who has bought a product reviews it", "product")
        self.db.execute(
            "DELETE FROM shop_review WHERE account_id = ? AND product_id = ?", account, product
        )
        number = self.db.insert(
            "shop_review",
            product_id=product,
            account_id=account,
            stars=stars,
            text=text,
            status="published",
            created_at=self.now,
        )
        return self._reviews("v.id = ?", number)[0]
