"""Mails of three customers, one of whom changes its mind, and the workbook of all orders."""

import datetime
import random

from documents import HOME, finish, gold, new_workbook, parameters, save_workbook, table, title

ARTICLES = (
    ("CH-110", "Office chair", 289.0),
    ("CH-140", "Visitor chair", 96.5),
    ("DE-205", "Desk", 418.0),
    ("LA-310", "Desk lamp", 54.5),
    ("LA-325", "Floor lamp", 129.0),
    ("CA-402", "Cupboard", 365.0),
    ("BO-510", "Whiteboard", 119.0),
    ("BO-520", "Pinboard", 48.9),
    ("FO-601", "Footrest", 38.0),
)
PEOPLE = (
    ("Nordwind Energy", "Karin Vogt", "nordwind"),
    ("Seidel Printing", "Emil Seidel", "seidel"),
    ("Harbour Logistics", "Tessa Okafor", "harbour"),
    ("Bluebird Travel", "Jonas Reuter", "bluebird"),
    ("Old Market Books", "Lena Fuchs", "oldmarket"),
)
OPENINGS = ("please send us", "we would like to order", "could you send us, as soon as you can,")
MONTHS = ("January", "February", "March", "April", "May")
given = parameters()
draw = random.Random(given["seed"])
month = MONTHS.index(given["month"]) + 1

numbers = {article: number for number, article, _ in ARTICLES}
customers = draw.sample(PEOPLE, 3)
days = [datetime.date(2026, month, day) for day in sorted(draw.sample(range(2, 20), 3))]
orders = []
for customer, day in zip(customers, days, strict=True):
    pieces = draw.sample(range(3, 28), 3)
    articles = draw.sample(sorted(numbers), 3)
    orders.append((customer, day, dict(zip(articles, pieces, strict=True))))


mails = []


def mail(person, subject, day, text):
    customer, sender, host = person
    address = f"{sender.split()[0].lower()}@{host}.example"
    told = f"{day.day} {MONTHS[day.month - 1]} {day.year}"
    lines = [
        f"From: {sender} <{address}>",
        "To: Orders <orders@fairlead.example>",
        f"Date: {told}",
        f"Subject: {subject}",
        "",
        "Good morning,",
        "",
        *text,
        "",
        "Kind regards",
        sender,
        customer,
    ]
    mails.append((day, "\n".join(lines) + "\n"))


for number, (person, day, wanted) in enumerate(orders):
    listed = [f"- {count} x {article}" for article, count in wanted.items()]
    text = [OPENINGS[number], "", *listed, "", "to the address that you have."]
    mail(person, "Order", day, text)

changed = draw.randrange(3)
person, day, wanted = orders[changed]
more, gone, kept = draw.sample(sorted(wanted), 3)
was = wanted[more]
wanted[more] = next(
    n for n in iter(lambda: draw.randrange(3, 28), None) if n not in wanted.values()
)
told = f"{day.day} {given['month']}"
text = [
    f"two changes to our order of {told}: we need {wanted[more]} x {more} and not {was}.",
    f"And please cancel the {gone} altogether, we have found some in the cellar.",
    f"The {kept} stays as ordered.",
]
later = day + datetime.timedelta(days=draw.randrange(1, 6))
while later in days:
    later += datetime.timedelta(days=1)
mail(person, f"Re: Order of {told}", later, text)
del wanted[gone]

folder = HOME / "Mails"
folder.mkdir(parents=True)
for place, (_, text) in enumerate(sorted(mails), 1):
    (folder / f"order-{place}.txt").write_text(text)

# By customer, those who changed nothing first.
orders.append(orders.pop(changed))
lines = [
    [
        [day.isoformat(), who[0], numbers[article], article, count]
        for article, count in wanted.items()
    ]
    for who, day, wanted in orders
]
gold("orders.json", lines)

past = []
for turn in range(5):
    day = datetime.date(2026, month - 1, 4 + 5 * turn)
    number, article, _ = draw.choice(ARTICLES)
    past.append([day, draw.choice(PEOPLE)[0], number, article, draw.randrange(2, 30)])
book = new_workbook("Orders", "Articles")
sheet = book["Orders"]
title(sheet, "Orders 2026", "One line for each article")
header = ("Date", "Customer", "Number", "Article", "Pieces")
table(sheet, 4, header, past, ("yyyy-mm-dd",), (14, 24, 12, 20, 10))
articles = book["Articles"]
title(articles, "Articles", "Prices in EUR, without value added tax")
table(
    articles,
    4,
    ("Number", "Article", "Price"),
    [list(one) for one in ARTICLES],
    (None, None, "#,##0.00"),
    (12, 20, 12),
)
save_workbook(book, HOME / "Documents" / "orders.xlsx")
finish("thunar /home/user/Mails", "libreoffice --calc /home/user/Documents/orders.xlsx")
