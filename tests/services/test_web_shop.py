"""The contract of services over the shop of envs/web, and what its seeded data promises."""

from __future__ import annotations

import functools

from agentgym.services import Backend, find_services
from agentgym.testing.service_contract import ServiceContract

ADDRESS = {"name": "N", "street": "S 1", "postcode": "1", "city": "C", "country": "D"}


def one(sql):
    """Return a value of the seeded state."""
    services = find_services("web")
    shop = Backend(services, services.template(1))
    value = shop.state.rows.value(sql)
    shop.close()
    return value


@functools.cache
def calls_that_succeed():
    """Return arguments by tool, of calls that the seeded state accepts."""
    delivered = "FROM shop_order o JOIN shop_order_line l ON l.order_id = o.id WHERE"
    bought = f"{delivered} o.account_id = 1 AND o.status = 'delivered' ORDER BY o.id DESC"
    product = one(f"SELECT l.product_id {bought}")
    paid = one("SELECT id FROM shop_order WHERE status = 'paid'")
    filled = one("SELECT min(id) FROM shop_product WHERE stock > 9 AND status = 'active'")
    waiting = one("SELECT id FROM shop_return WHERE status = 'requested'")
    return {
        "shop_check_out": {"account": 1, **ADDRESS, "delivery": "standard"},
        "shop_set_cart": {"account": 1, "product": filled, "quantity": 2},
        "shop_register": {"email": "a@b.example", "name": "A", "password": "long enough"},
        "shop_save_product": {
            "account": 2,
            **{"sku": "A-1", "title": "A", "brand": "", "category": "Toys", "colour": ""},
            **{"price_cents": 100, "stock": 1},
        },
        "shop_set_status": {"account": 2, "products": [filled], "status": "archived"},
        "shop_change_prices": {"account": 2, "products": [filled], "percent": 10},
        "shop_import_products": {
            "account": 2,
            "rows": [["A-1", "Kite", "", "Toys", "", "12.50", "3"]],
        },
        "shop_show_review": {"account": 2, "review": 1, "shown": False},
        "shop_cancel_order": {"account": 2, "order": paid},
        "shop_set_order_status": {"account": 2, "order": paid, "status": "packed"},
        "shop_decide_return": {"account": 2, "number": waiting, "approve": True},
        "shop_review": {"account": 1, "product": product, "stars": 3, "text": "Fine"},
        "shop_request_return": {
            "account": 1,
            "order": one(f"SELECT o.id {bought}"),
            "product": product,
            "quantity": 1,
            "reason": "Wrong",
        },
    }


class TestShop(ServiceContract):
    seed = 1
    examples = {
        "shop_log_in.email": ["nora.winter@mail.example"],
        "shop_log_in.password": ["amber-lantern-7"],
        "shop_import_products.rows": [[["A-1", "Kite", "", "Toys", "", "12.50", "3"]]],
        # The customer, and the manager, who may do everything.
        **{f"shop_{tool}.account": [1] for tool in ("list_orders", "get_cart")},
        **{
            f"shop_{tool}.account": [2]
            for tool in (
                *("list_products", "find_orders", "list_returns", "find_reviews", "get_order"),
                *("save_product", "set_status", "change_prices", "import_products"),
                *("decide_return", "show_review", "set_order_status", "cancel_order"),
            )
        },
        "shop_save_product.category": ["Toys"],
        "shop_search.sort": ["relevance", "price", "stars"],
    }

    def make(self):
        return find_services("web")

    @property
    def accepted(self):
        return calls_that_succeed()


def test_the_catalogue_has_thousands_of_rows_and_realistic_mess():
    services = find_services("web")
    shop = Backend(services, services.template(1))
    count = shop.state.rows.value
    tables = [table.name for table in services.layout.tables]
    assert sum(count(f"SELECT count(*) FROM {name}") for name in tables) > 6_000
    brands = set(shop.state.rows.column("SELECT DISTINCT brand FROM shop_product"))
    assert {"Nordlys", "NORDLYS", "Brühl", "Bruehl"} <= brands
    assert count("SELECT count(*) FROM shop_product WHERE price_cents = 0 AND status = 'draft'")
    assert not count(
        "SELECT count(*) FROM shop_product WHERE price_cents = 0 AND status = 'active'"
    )
    assert count("SELECT count(*) FROM shop_product WHERE description = ''")
    assert services.template(1).hash == find_services("web").template(1).hash
    shop.close()
