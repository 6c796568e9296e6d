"""The shop in the real browser: cookies over redirects, forms, a bulk action with its question."""

from __future__ import annotations

import re

from agentgym.protocols import SurfaceContext
from agentgym.records import Action, SurfaceConfig
from agentgym.sandbox.absent import RECIPE, NoSandboxProvider
from agentgym.services import Backend, find_services
from agentgym.sites.hosts import open_sites
from agentgym.sites.load import find_sites
from agentgym.surfaces.browser import BrowserKind
from agentgym.task.reference_policy import View


async def test_a_customer_orders_and_a_manager_raises_prices(chromium):
    services = find_services("web")
    shop = Backend(services, services.template(1))
    sites = open_sites(find_sites(("web/shop", "web/*")), services=shop, reader=shop, seed="w:3")
    provider = NoSandboxProvider()
    sandbox = await provider.start(RECIPE, None)
    kind = BrowserKind(SurfaceConfig((), {"screenshot": False}, False, 1_000))
    await kind.open()
    surface = await kind.attach(SurfaceContext(sandbox, shop, sites))
    view = View("", await surface.observe())

    async def do(action: Action):
        view.observation = await surface.call(action)

    async def sign_in(host, email, password):
        await do(view.goto(f"http://{host}/login"))
        await do(view.enter("E-mail address", email))
        await do(view.enter("Password", password))
        await do(view.click("button", "Sign in"))

    try:
        await sign_in("shop.example", "nora.winter@mail.example", "amber-lantern-7")
        assert view.url.endswith("/orders")
        await do(view.goto("http://shop.example/checkout"))
        await do(view.click("button", "Continue"))
        await do(view.click("radio", re.compile("Pick up.*")))
        await do(view.click("button", "Continue"))
        await do(view.click("button", re.compile("Pay and order|Place order|Buy now")))
        assert re.fullmatch(r"http://shop\.example/order/\d+", view.url)
        assert any("Thank you." in text for text in view.texts)
        entry = next(each for each in shop.audit if each.tool == "shop_check_out")
        assert entry.actor == "agent" and '"delivery": "pickup"' in entry.arguments_json
        await sign_in("desk.shop.example", "mara@shop.example", "ledger-bridge-4")
        (row,) = view.rows("BA-1003")
        before = shop.state.rows.value("SELECT price_cents FROM shop_product WHERE sku = 'BA-1003'")
        box = next(node for node in row if node["role"] == "checkbox")
        await do(view.act("click", ref=box["ref"]))
        percent = view.find(name=re.compile("Change prices by.*"))
        await do(view.act("type", ref=percent["ref"], text="10"))
        await do(view.click("button", "Change prices"))
        assert "dialog: confirm" in view.observation.text
        await do(view.act("dialog", accept=True))
        after = shop.state.rows.value("SELECT price_cents FROM shop_product WHERE sku = 'BA-1003'")
        assert after == (before * 110 + 50) // 100
        assert sites.application.failures == []
    finally:
        await surface.close()
        await kind.close()
        await sandbox.close()
        shop.close()
