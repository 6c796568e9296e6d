"""The shop: customers buy, staff keep the catalogue, and neither does what the other may."""

from __future__ import annotations

import io
import re

import pytest
from pages import Page, World
from PIL import Image as Bitmap

NORA = {"email": "nora.winter@mail.example", "password": "amber-lantern-7"}
MANAGER = {"email": "mara@shop.example", "password": "ledger-bridge-4"}
CLERK = {"email": "tomas@shop.example", "password": "paper-window-9"}
EDITOR = {"email": "yuki@shop.example", "password": "silver-pencil-2"}


@pytest.fixture
async def shop():
    world = World("web", "")
    yield world
    await world.close()


async def signed_in(world, host, who):
    return await world.send(await world.read(host, "/login"), "/login", **who)


@pytest.mark.parametrize(("host", "who"), [("shop.example", NORA), ("desk.shop.example", MANAGER)])
async def test_every_page_opens_and_every_form_takes_nonsense(shop, host, who):
    await signed_in(shop, host, who)
    before = shop.backend.hash
    seen, forms = await shop.crawl(f"http://{host}/")
    assert len(seen) > 10 and shop.backend.hash == before
    forms = {url: form for url, form in forms.items() if "logout" not in url}
    await shop.send_nonsense(forms.values())


def for_sale(shop, least_stock=5):
    return shop.value(
        "SELECT id FROM shop_product WHERE status = 'active' AND stock >= ? AND price_cents > 4000",
        least_stock,
    )


async def test_a_gift_is_bought_with_a_voucher(shop):
    product = for_sale(shop)
    stock = shop.value("SELECT stock FROM shop_product WHERE id = ?", product)
    price = shop.value("SELECT price_cents FROM shop_product WHERE id = ?", product)
    page = await shop.read("shop.example", f"/product/{product}")
    page = await shop.send(page, "/cart", quantity="2")
    assert "Please sign in first." in page.response.text
    page = await shop.send(page, "/login", **NORA)
    # The visitor is back where the sign-in was asked for.
    assert page.url.endswith(f"/product/{product}")
    left = shop.value("SELECT product_id FROM shop_cart_line WHERE account_id = 1")
    cart = await shop.send(page, "/cart", quantity="2")
    form = next(f for f in cart.forms if f["fields"].get("product") == str(left))
    await shop.visitor.post(form["url"], data={**form["fields"], "remove": "1"})
    page = await shop.read("shop.example", "/checkout")
    page = await shop.send(page, "/checkout", street="")
    assert 'id="street-error"' in page.response.text
    page = await shop.send(page, "/checkout", street="Parkweg 3")
    page = await shop.send(page, "/checkout/delivery", delivery="express", gift="on")
    assert page.url.endswith("/checkout/gift")
    page = await shop.send(page, "/checkout/gift", gift_note="For you")
    late = await shop.send(page, "/checkout/pay", voucher="WINTER20")
    assert "It was valid until 2026-02-15." in late.response.text
    page = await shop.send(page, "/checkout/pay", voucher="spring10")
    assert "Thank you." in page.response.text
    number = int(re.search(r"/order/(\d+)", page.url)[1])
    order = shop.backend.call("shop_get_order", {"account": 1, "order": number}).result
    assert order["total_cents"] == 2 * price - 2 * price // 10 + 1290
    assert (order["street"], order["gift_note"], order["voucher"]) == (
        *("Parkweg 3", "For you"),
        "SPRING10",
    )
    assert shop.value("SELECT stock FROM shop_product WHERE id = ?", product) == stock - 2
    assert shop.value("SELECT count(*) FROM shop_cart_line WHERE account_id = 1") == 0
    # A second click on the button of the old page orders nothing.
    again = await shop.send(Page(page.response), "/cancel")
    assert "Order cancelled." in again.response.text
    assert shop.value("SELECT stock FROM shop_product WHERE id = ?", product) == stock


async def test_facets_and_prices_narrow_a_search(shop):
    page = await shop.read("shop.example", "/search?q=lamp&colour=sage&to=20&sort=price")
    prices = [float(p) for p in re.findall(r'class="price">€([\d.]+)<', page.response.text)]
    assert prices and prices == sorted(prices) and prices[-1] <= 20
    facets = shop.backend.call("shop_search", {"text": "lamp", "colour": "sage"}).result["facets"]
    counted = {f["value"]: f["products"] for f in facets if f["kind"] == "brand"}
    found = shop.backend.call(
        "shop_search", {"text": "lamp", "colour": "sage", "limit": 100}
    ).result
    assert sum(counted.values()) == found["total"] == len(found["products"])


async def test_goods_are_returned_reviewed_and_decided(shop):
    await signed_in(shop, "shop.example", NORA)
    order = shop.value(
        "SELECT max(id) FROM shop_order o WHERE account_id = 1 AND status = 'delivered'"
        " AND id NOT IN (SELECT order_id FROM shop_return)"
    )
    page = await shop.read("shop.example", f"/order/{order}/return")
    bad = await shop.send(page, "/return", reason="Other", words=" ")
    assert 'id="words-error"' in bad.response.text
    product = shop.value("SELECT max(product_id) FROM shop_order_line WHERE order_id = ?", order)
    values = {"product": str(product), "reason": "Other", "words": "It hums."}
    page = await shop.send(page, "/return", **values)
    assert "is requested" in page.response.text
    page = await shop.read("shop.example", f"/product/{product}/review")
    page = await shop.send(page, "/review", stars="2", text="It hums.")
    assert "Your review is published." in page.response.text
    number = shop.value("SELECT id FROM shop_return WHERE order_id = ?", order)
    await signed_in(shop, "desk.shop.example", CLERK)
    page = await shop.read("desk.shop.example", f"/return/{number}")
    page = await shop.send(page, f"/return/{number}", approve="no", note=" ")
    assert "Say why it is refused." in page.response.text
    await shop.send(page, f"/return/{number}", approve="yes")
    assert shop.value("SELECT status FROM shop_return WHERE id = ?", number) == "approved"


async def test_rights_hold_on_both_faces(shop):
    await signed_in(shop, "shop.example", NORA)
    foreign = shop.value("SELECT id FROM shop_order WHERE account_id <> 1 LIMIT 1")
    answer = await shop.visitor.get(f"http://shop.example/order/{foreign}")
    assert answer.status_code == 404
    # Without a sign-in, as a customer, and with the cookie of the other face.
    assert (await shop.visitor.get("http://desk.shop.example/orders")).status_code == 403
    page = await signed_in(shop, "desk.shop.example", NORA)
    assert "Customers sign in at the shop." in page.response.text
    cookie = shop.visitor.cookies.get("session", domain="shop.example")
    answer = await shop.visitor.get(
        "http://desk.shop.example/orders", headers={"cookie": f"session={cookie}"}
    )
    assert answer.status_code == 403
    before = shop.backend.hash
    await signed_in(shop, "desk.shop.example", CLERK)
    page = await shop.read("desk.shop.example", "/")
    page = await shop.send(page, "/bulk", product="5", do="active")
    assert "this needs the role editor" in page.response.text and shop.backend.hash == before
    await signed_in(shop, "desk.shop.example", EDITOR)
    assert (await shop.visitor.get("http://desk.shop.example/orders")).status_code == 403
    page = await shop.read("desk.shop.example", "/")
    page = await shop.send(page, "/bulk", product="5", do="prices", percent="-50")
    assert "this needs the role manager" in page.response.text and shop.backend.hash == before


async def test_the_catalogue_goes_out_and_comes_back_in(shop):
    await signed_in(shop, "desk.shop.example", EDITOR)
    sent = await shop.visitor.get("http://desk.shop.example/export.csv?category=Toys")
    lines = sent.text.splitlines()
    expected = "SELECT count(*) FROM shop_product p WHERE p.sku LIKE 'TO-%' AND category_id = 6"
    assert lines[0] == "sku,title,brand,category,colour,price,stock"
    assert len(lines) == 1 + shop.value(expected)
    before = shop.backend.hash
    page = await shop.read("desk.shop.example", "/import")
    rows = f"{lines[0]}\nNEW-1,Kite,Kestra,Toys,navy,12.50,3\n{lines[1]},9"
    page = await shop.send(page, "/import", rows=rows)
    assert "row 2: expected 7 columns" in page.response.text
    page = await shop.send(page, "/import", rows=f"{lines[0]}\n{'a' * 140_000}")
    assert page.response.status_code == 422 and "not CSV: field larger" in page.response.text
    rows = f"{lines[0]}\nNEW-1,Kite,Kestra,Toyz,navy,12.50,3\nNEW-2,Bear,,Toys,,x,1"
    page = await shop.send(page, "/import", rows=rows)
    assert "no category" in page.response.text and "price: expected" in page.response.text
    assert shop.backend.hash == before
    sku = lines[1].split(",")[0]
    rows = f'{lines[0]}\nNEW-1,"Kite, large",Kestra,Toys,navy,"12,5",3\n{sku},Bear,,Toys,,9,1'
    page = await shop.send(page, "/import", rows=rows)
    assert "1 products added, 1 changed." in page.response.text
    row = shop.backend.state.rows.one("SELECT * FROM shop_product WHERE sku = 'NEW-1'")
    assert (row["title"], row["price_cents"], row["status"]) == ("Kite, large", 1250, "draft")
    page = await shop.read("desk.shop.example", f"/product/{row['id']}")
    await shop.send(page, f"/product/{row['id']}", price="13.99")
    stale = await shop.send(page, f"/product/{row['id']}", price="1")
    assert "meanwhile" in stale.response.text
    assert shop.value("SELECT price_cents FROM shop_product WHERE sku = 'NEW-1'") == 1399


def png(colour):
    """Return a picture of one colour."""
    file = io.BytesIO()
    Bitmap.new("RGB", (64, 48), colour).save(file, "PNG")
    return file.getvalue()


async def upload(shop, page, *files, **fields):
    """Send files by the upload form of a page."""
    form = page.form("/pictures")
    values = {n: v for n, v in (form["fields"] | fields).items() if v is not None}
    sent = [("file", file) for file in files]
    return Page(await shop.visitor.post(form["url"], data=values, files=sent))


async def test_a_picture_is_uploaded_described_and_shown_first(shop):
    await signed_in(shop, "desk.shop.example", EDITOR)
    product, cover = (
        shop.value(
            f"SELECT {column} FROM shop_cover JOIN shop_product p ON p.id = product_id"
            " WHERE p.status = 'active' ORDER BY p.id LIMIT 1"
        )
        for column in ("p.id", "picture_id")
    )
    page = await shop.read("desk.shop.example", f"/product/{product}")
    red = png("red")
    page = await upload(shop, page, ("red.png", red, "image/png"), alt=" A red one ")
    assert "red.png uploaded." in page.response.text
    number = shop.value("SELECT max(id) FROM shop_picture")
    row = shop.backend.state.rows.one("SELECT * FROM shop_picture WHERE id = ?", number)
    assert (row["product_id"], row["alt"], row["file_name"]) == (product, "A red one", "red.png")
    # Customers see it beside the first one, and first once the editor says so.
    answer = await shop.visitor.get(f"http://shop.example/picture/{number}")
    assert answer.content == red and answer.headers["content-type"] == "image/png"
    assert "sandbox" in answer.headers["content-security-policy"]
    await shop.send(page, f"/picture/{number}", first="yes")
    assert shop.value("SELECT picture_id FROM shop_cover WHERE product_id = ?", product) == number
    seen = await shop.read("shop.example", f"/product/{product}")
    assert 'alt="A red one"' in seen.response.text
    # What is taken off waits in the library, and what is deleted leaves no file.
    page = await shop.send(page, f"/picture/{number}/remove")
    assert shop.value("SELECT picture_id FROM shop_cover WHERE product_id = ?", product) == cover
    assert (await shop.visitor.get(f"http://shop.example/picture/{number}")).status_code == 404
    page = await shop.read("desk.shop.example", "/pictures?unused=on")
    sku = shop.value("SELECT sku FROM shop_product WHERE id = ?", product)
    page = await shop.send(page, f"/picture/{number}", sku=sku, alt="Red again")
    row = shop.backend.state.rows.one("SELECT * FROM shop_picture WHERE id = ?", number)
    assert (row["product_id"], row["alt"]) == (product, "Red again")
    token = page.form("/pictures")["fields"]["csrf"]
    gone = {"csrf": token, "forget": "yes"}
    await shop.visitor.post(f"http://desk.shop.example/picture/{number}/remove", data=gone)
    assert shop.value("SELECT count(*) FROM shop_file WHERE mime = 'image/png'") == 0


async def test_what_is_no_picture_is_refused_and_clerks_upload_nothing(shop):
    await signed_in(shop, "desk.shop.example", EDITOR)
    before = shop.backend.hash
    page = await shop.read("desk.shop.example", "/pictures")
    good = ("a.png", png("blue"), "image/png")
    for bad in (
        ("b.png", b"<html><script>alert(1)</script>", "image/png"),
        ("c.png", b"", "image/png"),
        ("d.png", png("blue") + b"\0" * 600_000, "image/png"),
    ):
        refused = await upload(shop, page, good, bad)
        assert "expected a" in refused.response.text and shop.backend.hash == before
    many = await upload(shop, page, *(good for _ in range(13)))
    assert "Choose one to 12 files." in many.response.text and shop.backend.hash == before
    await signed_in(shop, "desk.shop.example", CLERK)
    page = await shop.read("desk.shop.example", "/pictures")
    refused = await upload(shop, page, good)
    assert "this needs the role editor" in refused.response.text and shop.backend.hash == before
    draft = shop.value(
        "SELECT picture_id FROM shop_cover JOIN shop_product p ON p.id = product_id"
        " WHERE p.status = 'draft'"
    )
    assert (await shop.visitor.get(f"http://shop.example/picture/{draft}")).status_code == 404
