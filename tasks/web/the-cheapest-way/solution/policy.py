"""Computes the three totals, and tries the vouchers from the lowest total on."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")
PERCENT = {"SPRING10": 10, "WELCOME5": 5, "": 0}


def solve(view):
    told = " ".join(view.instruction.split())
    count, title, colour = re.search(r"order (\d+) of “(.+?)” \((\w+)\)", told).groups()
    yield from shop.enter_shop(view)
    yield from shop.empty_cart(view)
    product = yield from shop.find_product(view, title, colour=colour)
    price = next(text for text in view.texts if re.fullmatch(r"€[\d.,]+", text))
    goods = round(float(price[1:].replace(",", "")) * 100) * int(count)

    def total(voucher):
        reduced = goods - goods * PERCENT[voucher] // 100
        return reduced + (0 if reduced >= 7500 else 490)

    vouchers = sorted(PERCENT, key=total)
    yield from shop.put_in_cart(view, product, int(count))
    yield from shop.check_out(view, {}, "Standard", vouchers=vouchers)
