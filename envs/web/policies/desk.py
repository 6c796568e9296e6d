"""Policies of the staff of the shop, in its back office."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from urllib.parse import quote_plus

from agentgym.records import Action
from agentgym.task.reference_policy import View

from .moves import (
    Moves,
    cells,
    fact_of,
    links,
    number_in,
    open_whole,
    sign_in,
    with_secret,
    within,
)

__all__ = ["HOST", "cells", "fact_of", "links", "number_in", "open_whole"]

HOST = "http://desk.shop.example"


def enter_desk(view: View, who: str) -> Moves:
    """Sign in as somebody of the staff."""
    email, password = with_secret(view, who)
    yield from sign_in(view, "desk.shop.example", email, password)


def euros(text: str) -> float:
    """Return an amount as the pages show it, as a number."""
    return float(re.sub(r"[^\d.]", "", text))


def products(view: View) -> Iterator[tuple[int, str]]:
    """Yield number and article number of the products that this page lists."""
    skus = [n["name"].split()[-1] for n in view.find_all("checkbox", re.compile(r"Select \S+-\d+"))]
    numbers = [number_in(link["url"]) for link in links(view, r"/product/\d+$")]
    yield from zip(numbers, skus, strict=True)


def articles(
    view: View, text: str, status: str, column: str, value: str
) -> Generator[Action, None, list[str]]:
    """Return the article numbers of the products found that have a value in a column.

    It goes by category: a long list does not fit into the tree.
    """
    asked = f"{HOST}/?q={quote_plus(text)}&status={status}"
    yield view.goto(asked)
    categories = [name for name in within(view, view.find("combobox", "Category")) if name != "Any"]
    found: list[str] = []
    for category in categories:
        yield view.goto(f"{asked}&category={category}")
        place = [node["name"].strip() for node in view.find_all("columnheader")].index(column)
        found += [row[1] for row in map(cells, view.rows("€")) if row[place] == value]
    return found


def status_of_order(view: View) -> str:
    """Return the status of the order whose page is open."""
    statuses = ("paid", "packed", "shipped", "delivered", "cancelled")
    return next(text for text in view.texts if text in statuses)


def cancel(view: View, order: str) -> Moves:
    """Cancel an order; ask again if the dialog was late."""
    yield view.goto(f"{HOST}/order/{order}")
    while view.find_all("button", "Cancel order"):
        yield view.click("button", "Cancel order")
        yield view.act("dialog", accept=True)


def decide_return(view: View, number: str, approve: bool, note: str = "") -> Moves:
    """Approve or refuse a return."""
    yield view.goto(f"{HOST}/return/{number}")
    yield view.click("radio", "Approve" if approve else "Refuse")
    if note:
        yield view.enter("Note to the customer", note)
    yield view.click("button", "Save decision")


def change_prices(view: View, percent: int) -> Moves:
    """Change the prices of all products that this page lists."""
    yield view.click("checkbox", "Select all")
    field = view.find(name=re.compile("Change prices by.*"))
    yield view.act("type", ref=field["ref"], text=str(percent))
    yield view.click("button", "Change prices")
    yield view.act("dialog", accept=True)


def open_product(view: View, sku: str) -> Moves:
    """Open the page of a product."""
    yield view.goto(f"{HOST}/?q={sku}")
    numbers = {article: number for number, article in products(view)}
    link = next(n for n in links(view, rf"/product/{numbers[sku]}$"))
    yield view.act("click", ref=link["ref"])


def set_price(view: View, sku: str, price: str) -> Moves:
    """Enter the price of a product."""
    yield from open_product(view, sku)
    yield view.act("type", ref=view.find(name="Price in euros")["ref"], text=price)
    yield view.click("button", "Save")
