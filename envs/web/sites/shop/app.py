"""The shop for customers: search, cart, checkout in three steps, orders, returns, reviews."""

from __future__ import annotations

import json

from agentgym.sites import (
    BadRequestError,
    BoundForm,
    Field,
    Form,
    FormPages,
    Request,
    Response,
    SignIn,
    Site,
    picture_file,
)

site = Site()
SIZE = 24
SORTS = [
    ("relevance", "Most popular"),
    ("price", "Price: low to high"),
    ("price_down", "Price: high to low"),
    ("stars", "Best rated"),
    ("newest", "Newest"),
]
REGISTER = Form(
    Field("name", "Name", required=True, most=200),
    Field("email", "E-mail address", "email", required=True),
    Field("password", "Password", "password", required=True, hint="At least eight characters."),
)
ADDRESS = Form(
    Field("name", "Name", required=True, most=200),
    Field("street", "Street and number", required=True, most=200),
    Field("postcode", "Postal code", required=True, most=200),
    Field("city", "Town", required=True, most=200),
    Field("country", "Country", required=True, most=200),
)
DELIVERY = Form(
    Field(
        "delivery",
        "Delivery",
        "radio",
        required=True,
        options=[
            ("standard", "Standard, €4.90, free from €75"),
            ("express", "Express, €12.90"),
            ("pickup", "Pick up in the store, free"),
        ],
    ),
    Field("gift", "This is a gift", "check"),
)
GIFT = Form(Field("gift_note", "Text on the card", "area", required=True, most=500))
PAY = Form(Field("voucher", "Voucher code", most=40))
RETURN = Form(
    Field("product", "What", "choice", required=True),
    Field("quantity", "How many", "integer", required=True, least=1, most=99),
    Field(
        "reason",
        "Reason",
        "choice",
        required=True,
        options=[
            (text, text)
            for text in (
                "Does not fit",
                "Arrived damaged",
                "Wrong colour",
                "Changed my mind",
                "Other",
            )
        ],
    ),
    Field("words", "In your words", "area", most=150, hint="Needed for “Other”."),
)
REVIEW = Form(
    Field(
        "stars",
        "Stars",
        "radio",
        required=True,
        options=[(str(n), "★" * n + "☆" * (5 - n)) for n in range(5, 0, -1)],
    ),
    Field("text", "Your review", "area", most=5000),
)


def account(request: Request) -> int:
    """Return the account that is signed in; 0 without one."""
    return int(request.session.user or 0)


def show(request: Request, template: str, http_status: int = 200, **values: object) -> Response:
    me = request.rows("SELECT id, name FROM shop_account WHERE id = ?", account(request))
    cart = request.rows(
        "SELECT coalesce(sum(quantity), 0) AS goods FROM shop_cart_line WHERE account_id = ?",
        account(request),
    )
    categories = request.rows("SELECT name FROM shop_category ORDER BY name")
    values = {"text": "", "crumb": None, "intro": "", **values}
    return request.page(
        template,
        http_status,
        me=me[0] if me else None,
        in_cart=cart[0]["goods"],
        categories=request.vary.order("shop.categories", [row["name"] for row in categories]),
        **values,
    )


shaped = FormPages(show, "shop.html")
sign_in = SignIn(
    site,
    shaped,
    "shop_log_in",
    intro="Without an account? Register below the form.",
    home="/orders",
    greet=lambda account: f"Welcome, {account['name']}.",
    parting="You are signed out.",
).required


@site.get("/")
def home(request: Request) -> Response:
    found = request.call("shop_search", limit=8, in_stock=True)
    return show(request, "home.html", found=found, covers=covers(request, found["products"]))


def covers(request: Request, products: list[dict]) -> dict[int, dict]:
    """Return the first pictures of products, by product."""
    rows = request.rows(
        "SELECT product_id, picture_id, mime, data FROM shop_cover"
        " WHERE product_id IN (SELECT value FROM json_each(?))",
        json.dumps([product["id"] for product in products]),
    )
    return {row["product_id"]: row for row in rows}


def cents(text: str) -> int | None:
    """Return an amount that was typed as cents; None if it is no amount."""
    try:
        amount = round(float(text.replace(",", ".")) * 100)
    except (ValueError, OverflowError):
        return None
    return amount if 0 <= amount <= 10**8 else None


@site.get("/search")
def search(request: Request) -> Response:
    query = request.query
    page = query.number("page", 1, least=1, most=1000)
    sort = query.get("sort") if query.get("sort") in dict(SORTS) else "relevance"
    least, most = cents(query.get("from") or "x"), cents(query.get("to") or "x")
    found = request.call(
        "shop_search",
        text=query.get("q").strip(),
        category=query.get("category") or None,
        brand=query.get("brand") or None,
        colour=query.get("colour") or None,
        least_cents=least,
        most_cents=most,
        stars=query.number("stars", 0, most=5) or None,
        in_stock=query.get("stock") == "on",
        sort=sort,
        limit=SIZE,
        offset=SIZE * (page - 1),
    )
    values = {"found": found, "page": page, "size": SIZE, "sorts": SORTS, "sort": sort}
    values["covers"] = covers(request, found["products"])
    return show(request, "search.html", text=query.get("q"), **values)


def product_page(request: Request, product: int, http_status: int = 200) -> Response:
    shown = request.call("shop_get_product", product=product)
    reviews = request.call("shop_list_reviews", product=product)
    pictures = request.rows(
        "SELECT m.id, m.alt, f.mime, f.data FROM shop_picture m"
        " JOIN shop_file f ON f.name = m.file WHERE m.product_id = ? ORDER BY m.place, m.id",
        product,
    )
    asked = request.query.number("picture")
    chosen = next((each for each in pictures if each["id"] == asked), (pictures or [None])[0])
    values = {"product": shown, "reviews": reviews, "pictures": pictures, "chosen": chosen}
    return show(request, "product.html", http_status, **values)


@site.get("/picture/{picture:int}")
def picture(request: Request, picture: int) -> Response:
    """Show a picture of a product that customers may see."""
    found = request.rows(
        "SELECT f.data, f.mime FROM shop_picture m JOIN shop_file f ON f.name = m.file"
        " JOIN shop_product p ON p.id = m.product_id WHERE m.id = ? AND p.status <> 'draft'",
        picture,
    )
    if not found:
        raise BadRequestError(404, "there is no such picture")
    return picture_file(found[0]["data"], found[0]["mime"])


@site.get("/product/{product:int}")
def product(request: Request, product: int) -> Response:
    return product_page(request, product)


@site.post("/product/{product:int}/cart")
def put_in_cart(request: Request, product: int) -> Response:
    if not account(request):
        return sign_in(request, f"/product/{product}")
    more = request.fields.number("quantity", 1, least=1, most=99)
    cart = request.call("shop_get_cart", account=account(request))
    there = {line["product"]: line["quantity"] for line in cart["lines"]}
    values = {"account": account(request), "product": product}
    quantity = min(there.get(product, 0) + more, 99)
    done = request.attempt("Added to your cart.", "shop_set_cart", **values, quantity=quantity)
    return request.redirect(f"/product/{product}" if done is None else "/cart")


@site.get("/cart")
def cart(request: Request) -> Response:
    if not account(request):
        return sign_in(request)
    return show(request, "cart.html", cart=request.call("shop_get_cart", account=account(request)))


@site.post("/cart")
def change_cart(request: Request) -> Response:
    values = {"account": account(request), "product": request.fields.number("product")}
    quantity = request.fields.number("quantity", 0, most=99)
    if "remove" in request.fields:
        quantity = 0
    request.attempt("Cart changed.", "shop_set_cart", **values, quantity=quantity)
    return request.redirect("/cart")


# --- checkout: address, delivery, a card for gifts, payment ------------------------------------


def step(request: Request, heading: str, form: BoundForm, back: str, submit: str, intro: str = ""):
    return shaped(request, heading, form, back, submit, intro=intro)


def kept(request: Request) -> dict:
    return request.session.values.setdefault("checkout", {})


@site.get("/checkout")
def address(request: Request) -> Response:
    if not account(request):
        return sign_in(request)
    known = request.call("shop_get_account", account=account(request))
    values = {name: kept(request).get(name) or known[name] for name in ADDRESS.fields}
    return step(request, "Checkout: address", ADDRESS.blank(**values), "/cart", "Continue")


@site.post("/checkout")
def save_address(request: Request) -> Response:
    form = ADDRESS.bind(request.fields)
    if not form.is_valid:
        return step(request, "Checkout: address", form, "/cart", "Continue")
    request.session.values["checkout"] = {**kept(request), **form.values}
    return request.redirect("/checkout/delivery")


@site.get("/checkout/delivery")
def delivery(request: Request) -> Response:
    values = {"delivery": kept(request).get("delivery"), "gift": kept(request).get("gift")}
    form = DELIVERY.blank(**values)
    return step(request, "Checkout: delivery", form, "/checkout", "Continue")


@site.post("/checkout/delivery")
def save_delivery(request: Request) -> Response:
    form = DELIVERY.bind(request.fields)
    if not form.is_valid:
        return step(request, "Checkout: delivery", form, "/checkout", "Continue")
    request.session.values["checkout"] = {**kept(request), **form.values}
    return request.redirect("/checkout/gift" if form.values["gift"] else "/checkout/pay")


@site.get("/checkout/gift")
def gift(request: Request) -> Response:
    form = GIFT.blank(gift_note=kept(request).get("gift_note"))
    return step(request, "Checkout: card", form, "/checkout/delivery", "Continue")


@site.post("/checkout/gift")
def save_gift(request: Request) -> Response:
    form = GIFT.bind(request.fields)
    if not form.is_valid:
        return step(request, "Checkout: card", form, "/checkout/delivery", "Continue")
    request.session.values["checkout"] = {**kept(request), **form.values}
    return request.redirect("/checkout/pay")


def pay_page(request: Request, form: BoundForm) -> Response:
    cart = request.call("shop_get_cart", account=account(request))
    status = 200 if form.is_valid else 422
    return show(request, "pay.html", status, cart=cart, chosen=kept(request), form=form)


@site.get("/checkout/pay")
def pay(request: Request) -> Response:
    if not account(request):
        return sign_in(request)
    if not kept(request).get("street") or not kept(request).get("delivery"):
        return request.redirect("/checkout")
    return pay_page(request, PAY.blank())


@site.post("/checkout/pay")
def order(request: Request) -> Response:
    form, chosen = PAY.bind(request.fields), kept(request)
    names = ("name", "street", "postcode", "city", "country", "delivery")
    made = form.attempt(
        lambda: request.call(
            "shop_check_out",
            account=account(request),
            voucher=form.values["voucher"],
            gift_note=chosen.get("gift_note") or "" if chosen.get("gift") else "",
            **{name: chosen.get(name) or "" for name in names},
        )
    )
    if made is None:
        return pay_page(request, form)
    request.session.values.pop("checkout", None)
    request.flash(f"Thank you. Your order has the number {made['id']}.")
    return request.redirect(f"/order/{made['id']}")


# --- the account -------------------------------------------------------------------------------


@site.get("/register")
def register(request: Request) -> Response:
    return shaped(request, "Register", REGISTER.blank(), "/login", "Open account")


@site.post("/register")
def open_account(request: Request) -> Response:
    form = REGISTER.bind(request.fields)
    made = form.attempt(lambda: request.call("shop_register", **form.values))
    if made is None:
        return shaped(request, "Register", form, "/login", "Open account")
    request.session.log_in(str(made["id"]))
    request.flash("Your account is open.")
    return request.redirect("/")


@site.get("/orders")
def orders(request: Request) -> Response:
    if not account(request):
        return sign_in(request)
    page = request.query.number("page", 1, least=1, most=1000)
    found = request.call(
        "shop_list_orders", account=account(request), limit=10, offset=10 * (page - 1)
    )
    total = request.rows(
        "SELECT count(*) AS n FROM shop_order WHERE account_id = ?", account(request)
    )
    return show(request, "orders.html", orders=found, page=page, size=10, total=total[0]["n"])


@site.get("/order/{order:int}")
def one_order(request: Request, order: int) -> Response:
    if not account(request):
        return sign_in(request)
    shown = request.call("shop_get_order", account=account(request), order=order)
    return show(request, "order.html", order=shown)


@site.post("/order/{order:int}/cancel")
def cancel(request: Request, order: int) -> Response:
    request.attempt("Order cancelled.", "shop_cancel_order", account=account(request), order=order)
    return request.redirect(f"/order/{order}")


def return_form(request: Request, order: int) -> Form:
    shown = request.call("shop_get_order", account=account(request), order=order)
    options = [(str(line["product"]), line["title"]) for line in shown["lines"]]
    return RETURN.choosing({"product": options})


@site.get("/order/{order:int}/return")
def returning(request: Request, order: int) -> Response:
    form = return_form(request, order)
    options = form.fields["product"].options
    form = form.blank(quantity=1, product=options[0][0] if len(options) == 1 else None)
    return shaped(
        request, f"Return goods of order {order}", form, f"/order/{order}", "Send request"
    )


@site.post("/order/{order:int}/return")
def ask_return(request: Request, order: int) -> Response:
    form = return_form(request, order).bind(request.fields)
    values = form.values
    if values["reason"] == "Other" and not (values["words"] or "").strip():
        form.errors["words"] = "Say why."
    reason = values["reason"] or ""
    if (values["words"] or "").strip():
        reason = f"{reason}: {values['words'].strip()}"
    made = form.attempt(
        lambda: request.call(
            "shop_request_return",
            account=account(request),
            order=order,
            product=int(values["product"]),
            quantity=values["quantity"],
            reason=reason,
        )
    )
    if made is None:
        heading = f"Return goods of order {order}"
        return shaped(request, heading, form, f"/order/{order}", "Send request")
    request.flash(f"Return {made['id']} is requested.")
    return request.redirect(f"/order/{order}")


@site.get("/product/{product:int}/review")
def reviewing(request: Request, product: int) -> Response:
    if not account(request):
        return sign_in(request)
    shown = request.call("shop_get_product", product=product)
    heading = f"Review {shown['title']}"
    return shaped(request, heading, REVIEW.blank(), f"/product/{product}", "Publish review")


@site.post("/product/{product:int}/review")
def review(request: Request, product: int) -> Response:
    form = REVIEW.bind(request.fields)
    values = form.values
    made = form.attempt(
        lambda: request.call(
            "shop_review",
            account=account(request),
            product=product,
            stars=int(values["stars"]),
            text=values["text"] or "",
        )
    )
    if made is None:
        return shaped(request, "Review", form, f"/product/{product}", "Publish review")
    request.flash("Your review is published.")
    return request.redirect(f"/product/{product}")
