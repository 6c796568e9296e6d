"""Reads the mails of colleagues, requests what is missing, and replies with the numbers."""

import re

from agentgym.task.reference_policy import shared_policies

shop = shared_policies("web", "shop")
MAIL = "http://mail.office.example"
TEXT = re.compile(
    r"the (.+?) from the order of (\d+) (\w{3})\w* came broken, (\d+) of them\."
    r".*?What is wrong: ([^\n]+)",
    re.DOTALL,
)


def solve(view):
    told = " ".join(view.instruction.split())
    reason = re.search(r"with the reason “(\w+)”", told)
    reason = reason[1] if reason else "Arrived damaged"
    yield view.goto(f"{MAIL}/?q=Broken")
    mails = sorted(shop.number_in(link["url"]) for link in shop.links(view, r"/message/\d+"))
    wishes = {}
    for mail in mails:
        yield view.goto(f"{MAIL}/message/{mail}")
        yield view.act("read_page")
        text = view.observation.text
        found = TEXT.search(text)
        if found and "@fairlead.example" in text.split("to erik.pinto")[0]:
            wishes[mail] = found.groups()
    yield from shop.enter_shop(view)
    yield view.goto(f"{shop.HOST}/orders")
    orders = [shop.cells(row) for row in view.rows("€")]
    done = {}
    for mail, (title, day, month, count, words) in wishes.items():
        row = next(row for row in orders if f"{day} {month} 2026" in row[1])
        order = row[0].split()[1]
        yield view.goto(f"{shop.HOST}/order/{order}")
        number = already(view, title)
        if not number:
            yield from shop.request_return(view, order, title, int(count), reason, words.strip())
            number = already(view, title)
        done[mail] = number
    for mail, number in done.items():
        yield view.goto(f"{MAIL}/message/{mail}/reply")
        yield view.enter("Message", f"Return {number} is requested.")
        yield view.click("button", re.compile("(Send|Reply|Answer).*"))


def already(view, title):
    """Return the number of the return of a product that the page of an order lists."""
    for row in view.rows(title):
        found = shop.cells(row)
        if len(found) >= 5 and found[0].isdigit():
            return found[0]
    return ""
