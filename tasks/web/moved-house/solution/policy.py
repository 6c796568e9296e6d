"""Reads every open order, cancels it where it has to move, and places it again."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    street, postcode, city, country = re.search(
        r"moved, to (.+?), (\d+) (\w+), (\w+)\.", told
    ).groups()
    home = {"Street and number": street, "Postal code": postcode, "Town": city, "Country": country}
    yield from shop.enter_shop(view)
    yield from shop.empty_cart(view)
    yield view.goto(f"{shop.HOST}/orders")
    rows = [shop.cells(row) for row in view.rows("Order ")]
    orders = [row[0].split()[1] for row in rows if {"paid", "packed"} & set(row)]
    for order in orders:
        yield view.goto(f"{shop.HOST}/order/{order}")
        delivery = next(m[1] for t in view.texts if (m := re.match(r"Delivery \((\w+)\)", t)))
        if "Lindenallee 12" not in shop.fact_of(view, "To") or delivery == "pickup":
            continue
        card = shop.fact_of(view, "Card") if "Card" in view.texts else ""
        lines = [
            (shop.number_in(next(n["url"] for n in row if "/product/" in str(n.get("url")))), count)
            for row in view.rows("€")
            if len(cells := shop.cells(row)) == 4 and (count := cells[2]).isdigit()
        ]
        yield from shop.cancel(view)
        for product, count in lines:
            yield from shop.put_in_cart(view, product, int(count))
        yield from shop.check_out(view, home, delivery.capitalize(), card)
