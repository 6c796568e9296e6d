"""An inbox with an enquiry and its correction by a colleague, and a price list of two years."""

import datetime
import random
from mailbox import message, set_up_mail

from documents import HOME, finish, gold, new_workbook, parameters, save_workbook, table, title

# Number, article, plural in mails, list price in cents (this year), weeks.
ARTICLES = (
    ("CH-110", "Office chair", "office chairs", 28900, 3),
    ("CH-115", "Office chair with arms", "office chairs with arms", 33600, 4),
    ("CH-140", "Visitor chair", "visitor chairs", 9640, 2),
    ("DE-205", "Desk", "desks", 41800, 5),
    ("DE-215", "Standing desk", "standing desks", 63400, 6),
    ("LA-310", "Desk lamp", "desk lamps", 5460, 2),
    ("LA-325", "Floor lamp", "floor lamps", 12900, 3),
    ("CA-402", "Cupboard", "cupboards", 36500, 5),
    ("BO-510", "Whiteboard", "whiteboards", 11900, 2),
    ("BO-520", "Pinboard", "pinboards", 4880, 2),
    ("FO-601", "Footrest", "footrests", 3840, 1),
)
CUSTOMERS = {
    "Nordwind Energy": ("nordwind", "Karin Vogt", "Emil Brandt", "Ida Lorenz"),
    "Seidel Printing": ("seidel", "Emil Seidel", "Nora Castor", "Jan Wolters"),
    "Harbour Logistics": ("harbour", "Tessa Okafor", "Paul Dunmore", "Rosa Lind"),
}
TIERS = ((10, 5), (25, 10), (50, 15))
NO_DISCOUNT = "net price, no discount"
given = parameters()
draw = random.Random(given["seed"])
host, first, second, third = CUSTOMERS[given["customer"]]
prices = {number: cents + 20 * draw.randrange(-40, 41) for number, _, _, cents, _ in ARTICLES}
weeks = {number: count for number, _, _, _, count in ARTICLES}
plural = {number: name for number, _, name, _, _ in ARTICLES}
fixed = set(draw.sample([one[0] for one in ARTICLES], 3))
freights = [3900 + 100 * draw.randrange(12), 7200 + 100 * draw.randrange(12), 11900]


def percent(number, pieces):
    if number in fixed:
        return 0
    return max([0, *(off for least, off in TIERS if pieces >= least)])


def net(number, pieces):
    """Return the price per piece in cents; list prices are such that it has no fractions."""
    whole, rest = divmod(prices[number] * (100 - percent(number, pieces)), 100)
    assert rest == 0, (number, pieces)
    return whole


def freight(goods):
    return freights[0] if goods < 250_000 else freights[1] if goods < 600_000 else freights[2]


def sums(wanted):
    goods = sum(count * net(number, count) for number, count in wanted.items())
    return goods, freight(goods)


# The correction changes a discount and the freight, and one article never has a discount.
while True:
    chosen = draw.sample(sorted(prices), 4)
    asked = {number: draw.randrange(4, 58) for number in chosen}
    changed, dropped = draw.sample(chosen, 2)
    wanted = {number: count for number, count in asked.items() if number != dropped}
    wanted[changed] = draw.randrange(4, 58)
    special = [number for number in wanted if number in fixed]
    if len(set(asked.values()) | set(wanted.values())) < 5 or len(special) != 1:
        continue
    if percent(changed, asked[changed]) == percent(changed, wanted[changed]):
        continue
    if wanted[special[0]] < 10 or {"CH-110", "CH-115"} <= set(chosen):
        continue
    goods, charge = sums(wanted)
    undiscounted = sum(count * prices[number] for number, count in wanted.items())
    slow = max(weeks[number] for number in wanted)
    if sums(asked)[1] != charge and freight(undiscounted) != charge and weeks[dropped] > slow:
        break


def told(count):
    return f"{count / 100:,.2f}"


day = datetime.datetime(2026, 3, 2, 8, 15) + datetime.timedelta(
    days=draw.choice((0, 1, 2, 7, 8, 9))
)
answer_by = day + datetime.timedelta(days=9)
later = day + datetime.timedelta(days=2, hours=3, minutes=draw.randrange(50))
site = draw.choice(("Bremen", "Kassel", "Ulm", "Leipzig"))
listed = "".join(f"- {count} {plural[number]}\n" for number, count in asked.items())
opening = draw.choice(
    ("we are furnishing new rooms", "we are moving to a new building", "we open a second office")
)
enquiry = (
    f"Good morning,\n\n{opening} in {site} and would like a quotation for\n\n{listed}\n"
    f"with freight and delivery time, by {answer_by.day} {answer_by:%B} if you can manage it.\n\n"
    f"Kind regards\n{first}\n{given['customer']}\n"
)
correction = (
    f"Hello,\n\nI have taken over the furniture for {site} from {first}, who is on leave, so "
    "please send the quotation to me.\n\n"
    f"Two things have changed since: we need {wanted[changed]} {plural[changed]} in place of "
    f"{asked[changed]}, and no {plural[dropped]} at all, because we take the old ones along. "
    f"The rest stays as {first.split()[0]} wrote.\n\n"
    f"Regards\n{second}\n{given['customer']}\n"
)
earlier = {number: draw.randrange(4, 40) for number in draw.sample(sorted(prices), 2)}
bought = " and ".join(f"{count} {plural[number]}" for number, count in earlier.items())
order = (
    f"Good morning,\n\nthank you for your quotation of last week. We order {bought} at the prices "
    f"that you have given.\n\nKind regards\n{third}\n{given['customer']}\n"
)
other = draw.choice([name for name in CUSTOMERS if name != given["customer"]])
there, sender, *_ = CUSTOMERS[other]
else_asked = "".join(
    f"- {draw.randrange(4, 58)} {plural[number]}\n" for number in draw.sample(sorted(prices), 3)
)
strange = (
    f"Good morning,\n\ncould you please quote us your prices for\n\n{else_asked}\n"
    f"We would pick the goods up ourselves.\n\nKind regards\n{sender}\n{other}\n"
)
ASK, CHANGE = f"Quotation for {site}", f"Quotation for {site}: two changes"


def address(name, at):
    return name, f"{name.split()[0].lower()}.{name.split()[1].lower()}@{at}.example"


house = "fairlead"
mails = [
    (day - datetime.timedelta(days=20), address(third, host), "Our order", order),
    (day, address(first, host), ASK, enquiry),
    (later, address(second, host), CHANGE, correction),
    (day + datetime.timedelta(hours=27), address(sender, there), "Your prices", strange),
    (
        day - datetime.timedelta(days=47),
        address("Miriam Adler", house),
        "New price list",
        "Good morning,\n\nthe new list is in prices.xlsx. The old sheet stays there for the "
        "complaints that are still open, please quote from it no more.\n\nMiriam\n",
    ),
    (
        day + datetime.timedelta(days=1, hours=2),
        address("Jonas Petri", house),
        "Lunch on Thursday",
        "Shall we go to the new place by the bridge?\n",
    ),
    (
        day + datetime.timedelta(days=2, hours=7),
        address("Jonas Petri", house),
        "Key for the cellar",
        "It is back at the front desk.\n",
    ),
]
boxed = [
    message(place, sender, subject, when, text)
    for place, (when, sender, subject, text) in enumerate(sorted(mails), 1)
]

old = {number: cents - 20 * draw.randrange(30, 90) for number, cents in prices.items()}
book = new_workbook("Prices 2025", "Prices 2026", "Terms")
for name, year, costs in (("Prices 2025", 2025, old), ("Prices 2026", 2026, prices)):
    sheet = book[name]
    title(sheet, f"Price list {year}", "List prices per piece in EUR, without VAT")
    rows = [
        [n, article, costs[n] / 100, count, NO_DISCOUNT if n in fixed else None]
        for n, article, _, _, count in ARTICLES
    ]
    header = ("Number", "Article", "List price", "Weeks", "Remark")
    table(sheet, 4, header, rows, (None, None, "#,##0.00"), (12, 26, 14, 10, 26))
terms = book["Terms"]
title(terms, "Terms for quotations", "They hold for all customers")
rows = [[least, f"{off} %"] for least, off in TIERS]
table(terms, 4, ("Pieces from", "Discount"), rows, (), (18, 14, 4, 60))
table(
    terms,
    10,
    ("Goods from EUR", "Freight EUR"),
    [[0, freights[0] / 100], [2500, freights[1] / 100], [6000, freights[2] / 100]],
    ("#,##0.00", "#,##0.00"),
)
for row, note in (
    (15, "The discount goes by the pieces of one article, not of the whole quotation."),
    (16, "Articles with the remark “net price, no discount” have none, whatever the quantity."),
    (17, "The freight goes by the value of the goods after discount."),
    (18, "Weeks: time from order to delivery."),
):
    terms.cell(row, 1, note)
book.active = 1
save_workbook(book, HOME / "Documents" / "prices.xlsx")

ids = [
    f"<{n}.{w:%Y%m%d%H%M}@{s[1].split('@')[1]}>" for n, (w, s, _, _) in enumerate(sorted(mails), 1)
]
ours = [place for place, mail in enumerate(sorted(mails)) if mail[2] in (ASK, CHANGE)]
gold(
    "quotation.json",
    {
        "to": address(second, host)[1],
        "answers": [ids[place] for place in ours],
        "subject": ASK,
        "mails": [enquiry, correction],
        "days": sorted({f"{one:%Y-%m-%d}" for one in (day, later, answer_by)}),
        "lines": [
            {
                "number": number,
                "pieces": count,
                "was": asked[number],
                "list": told(prices[number]),
                "percent": percent(number, count),
                "price": told(net(number, count)),
                "amount": told(count * net(number, count)),
                "weeks": weeks[number],
            }
            for number, count in wanted.items()
        ],
        "dropped": {"number": dropped, "pieces": asked[dropped]},
        "goods": told(goods),
        "freight": told(charge),
        "total": told(goods + charge),
        "weeks": slow,
    },
)
set_up_mail(boxed)
finish("claws-mail", "libreoffice --calc /home/user/Documents/prices.xlsx")
