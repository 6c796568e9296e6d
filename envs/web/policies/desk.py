"""Policies of the staff of the shop, in its back office."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentgym.task.reference_policy import View

from .moves import Moves, cells, fact_of, links, number_in, sign_in, with_secret

__all__ = ["HOST", "cells", "decide_return", "enter_desk", "euros", "fact_of", "products"]

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


def decide_return(view: View, number: str, approve: bool, note: str = "") -> Moves:
    """Approve or refuse a return."""
    yield view.goto(f"{HOST}/return/{number}")
    yield view.click("radio", "Approve" if approve else "Refuse")
    if note:
        yield view.enter("Note to the customer", note)
    yield view.click("button", "Save decision")
