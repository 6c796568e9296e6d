"""Goes through the results from the cheapest on, and takes twelve of the first that fits."""

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")


def solve(view):
    told = " ".join(view.instruction.split())
    kind = told.partition("product of this kind: ")[2].partition(".")[0]
    yield from shop.enter_shop(view)
    for product in (yield from shop.cheapest_first(view, kind, stars=4)):
        yield view.goto(f"{shop.HOST}/product/{product}")
        if len(view.find_all("article")) < 2:
            continue
        yield from shop.put_in_cart(view, product, 12)
        if view.url.endswith("/cart"):
            return
