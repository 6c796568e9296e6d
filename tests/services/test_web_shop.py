"""The contract of services over shop and forum of envs/web, and what their data promises."""

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
        "shop_change_picture": {"account": 2, "picture": 1, "alt": "A lamp"},
        "shop_remove_picture": {"account": 2, "picture": 1},
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
        **forum_calls(),
    }


def forum_calls():
    """Return calls of the forum: user 1 is a member, user 2 the admin."""
    thread = one("SELECT max(id) FROM forum_thread WHERE locked = 0 AND board_id = 2")
    other = one("SELECT min(id) FROM forum_thread WHERE locked = 0 AND board_id = 2")
    draft = one("SELECT min(id) FROM forum_draft WHERE user_id = 1")
    foreign = one("SELECT min(id) FROM forum_post WHERE status = 'visible' AND author_id <> 2")
    by = "SELECT min(id) FROM forum_post WHERE"
    member = one("SELECT max(handle) FROM forum_user WHERE role = 'member'")
    handles = {"account": 2, "user": member}
    return {
        "forum_start_thread": {"account": 1, "board": "help", "title": "A", "body": "B"},
        "forum_reply": {"account": 1, "thread": thread, "body": "B"},
        "forum_edit_post": {"account": 2, "post": one(f"{by} author_id = 2"), "body": "B"},
        "forum_flag_post": {"account": 2, "post": foreign, "reason": "spam"},
        "forum_save_draft": {"account": 1, "body": "B", "thread": thread},
        "forum_publish_draft": {"account": 1, "draft": draft},
        "forum_discard_draft": {"account": 1, "draft": draft},
        "forum_set_status": {"account": 2, "thread": thread, "status": "planned"},
        "forum_assign": {"account": 2, "thread": thread, "user": "tomas"},
        "forum_label_thread": {"account": 2, "thread": thread, "label": "new"},
        "forum_set_marks": {"account": 2, "thread": thread, "pinned": True},
        "forum_move_thread": {"account": 2, "thread": thread, "board": "site"},
        "forum_merge_threads": {"account": 2, "thread": thread, "into": other},
        "forum_hide_post": {"account": 2, "post": foreign, "reason": "spam"},
        "forum_restore_post": {"account": 2, "post": one(f"{by} status = 'hidden'")},
        "forum_decide_flag": {
            "account": 2,
            "flag": one("SELECT min(id) FROM forum_flag WHERE status = 'open'"),
            "uphold": True,
        },
        "forum_suspend_user": {**handles, "days": 3, "reason": "Spam"},
        "forum_set_role": {**handles, "role": "moderator"},
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
                *("find_pictures", "add_picture", "change_picture", "remove_picture"),
            )
        },
        "shop_save_product.category": ["Toys"],
        "shop_search.sort": ["relevance", "price", "stars"],
        "forum_log_in.email": ["nora.winter@mail.example"],
        "forum_log_in.password": ["amber-lantern-7"],
        "forum_list_threads.board": ["help"],
        "forum_search.board": ["wishes"],
        **{f"forum_{tool}.user": ["nora_w"] for tool in ("get_user", "suspend_user", "set_role")},
        **{f"forum_{tool}.account": [2] for tool in ("list_flags", "list_log", "list_drafts")},
        **{f"forum_{tool}.author": ["keiko_g"] for tool in ("list_threads", "search")},
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
    pictured = count("SELECT count(*) FROM shop_cover")
    assert 1_200 < pictured < count("SELECT count(*) FROM shop_product")
    assert count("SELECT count(*) FROM shop_picture WHERE product_id IS NULL") >= 10
    assert count("SELECT count(*) FROM shop_picture WHERE alt = ''") > 50
    posts = count("SELECT count(*) FROM forum_post")
    assert posts > 2_000 and count("SELECT count(*) FROM forum_thread") > 500
    assert count("SELECT count(*) FROM forum_flag WHERE status = 'open'") >= 10
    assert count("SELECT count(*) FROM forum_post WHERE status = 'hidden'") >= 20
    # Texts of people differ, and nobody writes before a thread begins.
    assert count("SELECT count(DISTINCT body) FROM forum_post") > 150
    late = "JOIN forum_thread t ON t.id = p.thread_id WHERE p.created_at < t.created_at"
    assert not count(f"SELECT count(*) FROM forum_post p {late}")
    assert services.template(1).hash == find_services("web").template(1).hash
    shop.close()
