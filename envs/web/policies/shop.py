"""Policies of customers of the shop."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any
from urllib.parse import quote_plus

from agentgym.records import Action
from agentgym.task.reference_policy import View

from .moves import Moves, cells, fact_of, links, number_in, sign_in, with_secret, within

__all__ = ["HOST", "cells", "fact_of", "links", "number_in", "within"]

HOST = "http://shop.example"


def enter_shop(view: View, who: str = "nora.winter") -> Moves:
    """Sign in as a customer."""
    email, password = with_secret(view, who)
    yield from sign_in(view, "shop.example", email, password)


def find_product(
    view: View, title: str, *, skip: int = 0, **facts: str
) -> Generator[Action, None, int]:
    """Open the product that has a title and further facts, and return its number.

    Args:
        view: What the policy sees.
        title: Title.
        skip: How many products of that title to leave out.
        facts: What the page says about it, by lower-case names.
    """
    yield view.goto(f"{HOST}/search?q={quote_plus(title)}")
    found = [link for link in links(view, r"/product/\d+$") if link["name"].strip() == title]
    for link in found[skip:]:
        yield view.goto(f"{HOST}/product/{number_in(link['url'])}")
        if all(fact_of(view, name.capitalize()) == value for name, value in facts.items()):
            return number_in(view.url)
    raise LookupError(f"no product {title!r} with {facts}")


def cheapest_first(view: View, text: str, stars: int) -> Generator[Action, None, list[int]]:
    """Search, sorted by price, and return the numbers of the products found."""
    yield view.goto(f"{HOST}/search?q={quote_plus(text)}")
    yield view.choose("Sort by", "Price: low to high")
    yield view.choose("Stars, at least", str(stars))
    yield view.click("button", "Apply filter")
    return [number_in(link["url"]) for link in links(view, r"/product/\d+$")]


def empty_cart(view: View) -> Moves:
    """Take everything out of the cart."""
    yield view.goto(f"{HOST}/cart")
    while found := view.find_all("button", re.compile("Remove .*")):
        yield view.act("click", ref=found[0]["ref"])


def put_in_cart(view: View, product: int, count: int = 1) -> Moves:
    """Put a product into the cart, on its page."""
    if not view.url.endswith(f"/product/{product}"):
        yield view.goto(f"{HOST}/product/{product}")
    field = view.find(name="Quantity")
    yield view.act("type", ref=field["ref"], text=str(count))
    yield view.click("button", re.compile("Add to cart|Put into the cart|Add"))


def check_out(
    view: View,
    address: dict[str, str],
    delivery: str,
    card: str = "",
    vouchers: Sequence[str] = (),
) -> Moves:
    """Go through the checkout; try vouchers in turn."""
    yield view.goto(f"{HOST}/checkout")
    for label, text in address.items():
        if view.find(name=label).get("value") != text:
            yield view.enter(label, text)
    yield view.click("button", "Continue")
    yield view.click("radio", re.compile(f"{delivery}.*"))
    if card:
        yield view.click("checkbox", "This is a gift")
    yield view.click("button", "Continue")
    if card:
        yield view.enter("Text on the card", card)
        yield view.click("button", "Continue")
    for voucher in vouchers or ("",):
        if voucher:
            yield view.enter("Voucher code", voucher)
        yield from pay(view)
        if "/checkout" not in view.url:
            return


def pay(view: View) -> Moves:
    """Click the button that orders."""
    yield view.click("button", re.compile("Pay and order|Place order|Buy now"))


def not_returned(view: View) -> dict[str, int]:
    """Return how many of each title of an order, whose page is open, no return was asked for."""
    left: dict[str, int] = {}
    for row in view.rows("€"):
        title, _, count, *_ = cells(row)
        left[title] = int(count)
    for row in view.find_all("row"):
        found = cells([row, *_below(view, row)])
        if len(found) == 6 and found[1] in left and found[4] != "refused":
            left[found[1]] -= int(found[2])
    return {title: count for title, count in left.items() if count}


def _below(view: View, node: dict[str, Any]) -> list[dict[str, Any]]:
    nodes = view.nodes
    place = nodes.index(node)
    rest = nodes[place + 1 :]
    end = next((i for i, n in enumerate(rest) if n["depth"] <= node["depth"]), len(rest))
    return rest[:end]


def request_return(
    view: View, order: str, title: str, quantity: int, reason: str, words: str
) -> Moves:
    """Ask to return goods."""
    yield view.goto(f"{HOST}/order/{order}/return")
    yield view.choose("What", title)
    yield view.act("type", ref=view.find(name="How many")["ref"], text=str(quantity))
    yield view.choose("Reason", reason)
    yield view.enter("In your words", words)
    yield view.click("button", "Send request")


def cancel(view: View) -> Moves:
    """Cancel the order whose page is open; ask again if the dialog was late."""
    while view.find_all("button", "Cancel order"):
        yield view.click("button", "Cancel order")
        yield view.act("dialog", accept=True)


def review(view: View, product: int, stars: int, text: str) -> Moves:
    """Review a product."""
    yield view.goto(f"{HOST}/product/{product}/review")
    yield view.click("radio", "★" * stars + "☆" * (5 - stars))
    yield view.enter("Your review", text)
    yield view.click("button", "Publish review")
