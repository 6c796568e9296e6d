"""The shop in the real browser: cookies over redirects, forms, a bulk action with its
question, pictures."""

from __future__ import annotations

import re

import pytest

from agentgym.protocols import SurfaceContext
from agentgym.records import SurfaceConfig
from agentgym.sandbox.absent import NoSandbox
from agentgym.services import Backend, find_services
from agentgym.sites.hosts import open_sites
from agentgym.sites.load import find_sites
from agentgym.surfaces.browser import BrowserKind
from agentgym.task.reference_policy import View


@pytest.fixture
async def shop(chromium):
    """The services of the shop, and a browser that visits its sites."""
    services = find_services("web")
    backend = Backend(services, services.template(1))
    sites = open_sites(
        find_sites(("web/shop", "web/*")), services=backend, reader=backend, seed="w:3"
    )
    # What the browser itself says of the pictures of a page.
    widths = {"widths": "[...document.images].map((image) => image.naturalWidth)"}
    options = {"screenshot": False, "state": widths}
    kind = BrowserKind(SurfaceConfig((), options, False, 1_000))
    await kind.open()
    surface = await kind.attach(SurfaceContext(NoSandbox(), backend, sites))
    yield Visitor(backend, surface, View("", await surface.observe()))
    assert sites.application.failures == []
    await surface.close()
    await kind.close()
    backend.close()


class Visitor:
    """A browser in the hands of a test."""

    def __init__(self, backend, surface, view):
        self.backend, self.surface, self.view = backend, surface, view

    async def do(self, action):
        self.view.observation = await self.surface.call(action)

    async def sign_in(self, host, email, password):
        view = self.view
        await self.do(view.goto(f"http://{host}/login"))
        await self.do(view.enter("E-mail address", email))
        await self.do(view.enter("Password", password))
        await self.do(view.click("button", "Sign in"))

    def value(self, sql, *values):
        return self.backend.state.rows.value(sql, *values)


async def test_a_customer_orders_and_a_manager_raises_prices(shop):
    do, view = shop.do, shop.view
    await shop.sign_in("shop.example", "nora.winter@mail.example", "amber-lantern-7")
    assert view.url.endswith("/orders")
    await do(view.goto("http://shop.example/checkout"))
    await do(view.click("button", "Continue"))
    await do(view.click("radio", re.compile("Pick up.*")))
    await do(view.click("button", "Continue"))
    await do(view.click("button", re.compile("Pay and order|Place order|Buy now")))
    assert re.fullmatch(r"http://shop\.example/order/\d+", view.url)
    assert any("Thank you." in text for text in view.texts)
    entry = next(each for each in shop.backend.audit if each.tool == "shop_check_out")
    assert entry.actor == "agent" and '"delivery": "pickup"' in entry.arguments_json
    await shop.sign_in("desk.shop.example", "mara@shop.example", "ledger-bridge-4")
    (row,) = view.rows("BA-1003")
    before = shop.value("SELECT price_cents FROM shop_product WHERE sku = 'BA-1003'")
    box = next(node for node in row if node["role"] == "checkbox")
    await do(view.act("click", ref=box["ref"]))
    percent = view.find(name=re.compile("Change prices by.*"))
    await do(view.act("type", ref=percent["ref"], text="10"))
    await do(view.click("button", "Change prices"))
    assert "dialog: confirm" in view.observation.text
    await do(view.act("dialog", accept=True))
    after = shop.value("SELECT price_cents FROM shop_product WHERE sku = 'BA-1003'")
    assert after == (before * 110 + 50) // 100


async def test_an_editor_downloads_a_picture_and_uploads_it_for_a_product(shop):
    do, view = shop.do, shop.view
    await shop.sign_in("desk.shop.example", "yuki@shop.example", "silver-pencil-2")
    await do(view.goto("http://desk.shop.example/pictures?unused=on"))
    name = next(text.split()[0] for text in view.texts if text.strip().endswith(".svg"))
    await do(view.act("click", ref=view.find_all("link", "Download")[0]["ref"]))
    assert view.observation.data["downloads"][0]["name"] == name
    product = shop.value(
        "SELECT min(id) FROM shop_product WHERE status = 'active'"
        " AND id NOT IN (SELECT product_id FROM shop_cover)"
    )
    await do(view.goto(f"http://desk.shop.example/product/{product}"))
    field = view.find(name="New picture")
    await do(view.act("upload", ref=field["ref"], files=[{"name": name}]))
    await do(view.enter("Alternative text", "As it came from the shoot"))
    await do(view.click("button", "Upload"))
    assert any(f"{name} uploaded." in text for text in view.texts)
    await do(view.goto(f"http://shop.example/product/{product}"))
    assert view.find("image", "As it came from the shoot")
    assert shop.surface.audit().page_state["widths"] == [480]
