"""The shop's back office: catalogue, drafts, bulk actions, CSV, orders, returns, reviews."""

from __future__ import annotations

import csv
import io

from agentgym.sites import BoundForm, Field, Form, Request, Response, download

from .media import pictures_of
from .staff import account, shaped, show, site

SIZE = 50
COLUMNS = ("sku", "title", "brand", "category", "colour", "price", "stock")
PRODUCT = Form(
    Field("sku", "Article number", required=True, most=40),
    Field("title", "Title", required=True, most=200),
    Field("brand", "Brand", most=100),
    Field("category", "Category", "choice", required=True),
    Field("colour", "Colour", most=40),
    Field("price", "Price in euros", "decimal", required=True, arguments=("price_cents",)),
    Field("stock", "In stock", "integer", required=True, least=0, most=10**6),
    Field("description", "Description", "area", most=5000),
    Field("version", "Version", "hidden"),
)
DECISION = Form(
    Field(
        "approve",
        "Decision",
        "radio",
        required=True,
        options=[("yes", "Approve"), ("no", "Refuse")],
    ),
    Field("note", "Note to the customer", "area", most=5000),
)
STATUSES = [("draft", "Draft"), ("active", "For sale"), ("archived", "Archived")]
ORDER_STATUSES = ["paid", "packed", "shipped", "delivered", "cancelled"]


def categories(request: Request) -> list[tuple[str, str]]:
    rows = request.rows("SELECT name FROM shop_category ORDER BY name")
    return [(row["name"], row["name"]) for row in rows]


def found_products(request: Request, size: int, page: int) -> dict:
    query = request.query
    status = query.get("status")
    return request.call(
        "shop_list_products",
        account=account(request),
        text=query.get("q").strip(),
        status=status if status in dict(STATUSES) else None,
        category=query.get("category") or None,
        low_stock=query.get("low") == "on",
        unpictured=query.get("unpictured") == "on",
        limit=size,
        offset=size * (page - 1),
    )


@site.get("/")
def products(request: Request) -> Response:
    if not account(request):
        return request.redirect("/login")
    page = request.query.number("page", 1, least=1, most=1000)
    return show(
        request,
        "products.html",
        found=found_products(request, SIZE, page),
        page=page,
        size=SIZE,
        text=request.query.get("q"),
        statuses=STATUSES,
        categories=categories(request),
    )


@site.post("/bulk")
def bulk(request: Request) -> Response:
    """Do something with the ticked products, as the pressed button says."""
    chosen, do = request.fields.numbers("product"), request.fields.get("do")
    values = {"account": account(request), "products": chosen}
    if not chosen:
        request.flash("Choose at least one product.", "error")
    elif do in dict(STATUSES):
        told = f"{len(chosen)} products: {dict(STATUSES)[do].lower()}."
        request.attempt(told, "shop_set_status", **values, status=do)
    elif do == "prices":
        percent = request.fields.number("percent", 0, least=-90, most=200)
        told = f"{len(chosen)} prices changed by {percent} percent."
        request.attempt(told, "shop_change_prices", **values, percent=percent)
    return request.back("/")


def product_page(request: Request, form: BoundForm, product: int | None) -> Response:
    if product is None:
        return shaped(request, "New product", form, "/", "Save as draft")
    return show(
        request,
        "product.html",
        200 if form.is_valid else 422,
        layout="desk.html",
        heading=f"Product {product}",
        form=form,
        cancel="/",
        submit="Save",
        product=product,
        pictures=pictures_of(request, product),
    )


@site.get("/new")
def new(request: Request) -> Response:
    form = PRODUCT.choosing({"category": categories(request)}).blank(stock=0)
    return product_page(request, form, None)


@site.get("/product/{product:int}")
def product(request: Request, product: int) -> Response:
    found = request.rows(
        "SELECT p.*, c.name AS category FROM shop_product p"
        " JOIN shop_category c ON c.id = p.category_id WHERE p.id = ?",
        product,
    )
    # The tool decides who may look; the table has the drafts that it leaves out.
    request.call("shop_list_products", account=account(request), limit=1)
    if not found:
        return request.redirect("/")
    names = ("sku", "title", "brand", "category", "colour", "stock", "description", "version")
    values = {name: found[0][name] for name in names}
    values["price"] = f"{found[0]['price_cents'] / 100:.2f}"
    form = PRODUCT.choosing({"category": categories(request)}).blank(**values)
    return product_page(request, form, product)


def save(request: Request, product: int | None) -> Response:
    form = PRODUCT.bind(request.fields, {"category": categories(request)})
    values, seen = form.values, form.values["version"] or ""
    made = form.attempt(
        lambda: request.call(
            "shop_save_product",
            account=account(request),
            **{name: values[name] or "" for name in ("sku", "title", "brand", "category")},
            colour=values["colour"] or "",
            price_cents=round(values["price"] * 100),
            stock=values["stock"],
            description=values["description"] or "",
            **({"product": product} if product else {}),
            **({"version": int(seen)} if product and seen.isdigit() else {}),
        )
    )
    if made is None:
        return product_page(request, form, product)
    request.flash(f"{made['sku']} saved.")
    return request.redirect(f"/product/{made['id']}")


@site.post("/new")
def create(request: Request) -> Response:
    return save(request, None)


@site.post("/product/{product:int}")
def change(request: Request, product: int) -> Response:
    return save(request, product)


@site.get("/export.csv")
def export(request: Request) -> Response:
    text, page = io.StringIO(), 1
    lines = csv.writer(text)
    lines.writerow(COLUMNS)
    while True:
        found = found_products(request, 100, page)
        for row in found["products"]:
            price = f"{row['price_cents'] / 100:.2f}"
            lines.writerow([*(row[name] for name in COLUMNS[:5]), price, row["stock"]])
        if page * 100 >= found["total"]:
            break
        page += 1
    return download(text.getvalue().encode(), "products.csv", "text/csv; charset=utf-8")


@site.get("/import")
def importing(request: Request) -> Response:
    return show(request, "import.html", errors=[], entered="")


@site.post("/import")
def import_csv(request: Request) -> Response:
    chosen = request.files.get("file")
    entered = chosen[0].text() if chosen else request.fields.get("rows")
    errors: list[str] = []
    try:
        lines = [line for line in csv.reader(io.StringIO(entered.strip())) if any(line)]
    except csv.Error as error:
        return show(request, "import.html", 422, errors=[f"not CSV: {error}"], entered=entered)
    if not lines or tuple(cell.strip() for cell in lines[0]) != COLUMNS:
        errors = [f"The first line must be: {','.join(COLUMNS)}"]
    elif wrong := [n for n, line in enumerate(lines[1:], 1) if len(line) != len(COLUMNS)]:
        errors = [f"row {wrong[0]}: expected {len(COLUMNS)} columns"]
    else:
        done = request.call("shop_import_products", account=account(request), rows=lines[1:])
        errors = done["errors"]
        if not errors:
            request.flash(f"{done['added']} products added, {done['changed']} changed.")
            return request.redirect("/?status=draft")
    return show(request, "import.html", 422, errors=errors, entered=entered)


@site.get("/orders")
def orders(request: Request) -> Response:
    query = request.query
    page = query.number("page", 1, least=1, most=1000)
    status = query.get("status") if query.get("status") in ORDER_STATUSES else None
    values = {"account": account(request), "text": query.get("q").strip(), "limit": SIZE}
    found = request.call("shop_find_orders", **values, status=status, offset=SIZE * (page - 1))
    shown = {"orders": found, "page": page, "size": SIZE, "statuses": ORDER_STATUSES}
    return show(request, "orders.html", text=query.get("q"), **shown)


@site.get("/order/{order:int}")
def order(request: Request, order: int) -> Response:
    request.call("shop_find_orders", account=account(request), limit=1)
    found = request.call("shop_get_order", account=account(request), order=order)
    following = {"paid": "packed", "packed": "shipped", "shipped": "delivered"}
    return show(request, "order.html", order=found, following=following.get(found["status"]))


@site.post("/order/{order:int}")
def move_order(request: Request, order: int) -> Response:
    status = request.fields.get("status")
    values = {"account": account(request), "order": order, "status": status}
    request.attempt(f"Order {order} is {status}.", "shop_set_order_status", **values)
    return request.redirect(f"/order/{order}")


@site.get("/returns")
def returns(request: Request) -> Response:
    everything = request.query.get("all") == "on"
    found = request.call("shop_list_returns", account=account(request), waiting=not everything)
    return show(request, "returns.html", returns=found, everything=everything)


@site.get("/return/{number:int}")
def deciding(request: Request, number: int) -> Response:
    heading = f"Decide return {number}"
    return shaped(request, heading, DECISION.blank(), "/returns", "Save decision")


@site.post("/return/{number:int}")
def decide(request: Request, number: int) -> Response:
    form = DECISION.bind(request.fields)
    done = form.attempt(
        lambda: request.call(
            "shop_decide_return",
            account=account(request),
            number=number,
            approve=form.values["approve"] == "yes",
            note=form.values["note"] or "",
        )
    )
    if done is None:
        return shaped(request, f"Decide return {number}", form, "/returns", "Save decision")
    request.flash(f"Return {number} is {done['status']}.")
    return request.redirect("/returns")


@site.get("/reviews")
def reviews(request: Request) -> Response:
    text = request.query.get("text")
    found = request.call("shop_find_reviews", account=account(request), text=text)
    return show(request, "reviews.html", reviews=found, wanted=text)


@site.post("/review/{review:int}")
def moderate(request: Request, review: int) -> Response:
    shown = request.fields.get("shown") == "yes"
    told = "The review is published." if shown else "The review is hidden."
    values = {"account": account(request), "review": review, "shown": shown}
    request.attempt(told, "shop_show_review", **values)
    return request.back("/reviews")
