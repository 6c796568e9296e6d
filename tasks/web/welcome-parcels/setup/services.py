"""Writes the list and the addresses: three are to be sent, the others are done or come later."""

import json

ITEMS = (
    ("Coat rack Brühl No. 2", "oak"),
    ("Rucksack Oak 45 cm", "sage"),
    ("Desk lamp Oak No. 4", "black"),
    ("Notebook Værk small", "grey"),
    ("Fountain pen Oak 30 cm", "black"),
    ("Screwdriver set Hollin No. 4", "navy"),
    ("Plant pot Brühl No. 2", "white"),
    ("Water bottle Oak 30 cm", "white"),
)
PEOPLE = (
    "Elif Yılmaz",
    "Owen Dahl",
    "Priya Iyer",
    "Femi Usman",
    "Inês Costa",
    "Jonas Vogel",
    "Owen Dahlke",
)
OFFICES = (
    ("Berlin", "Kastanienallee 71", "10435", "Berlin", "Germany"),
    ("Vienna", "Parkweg 18", "1010", "Wien", "Austria"),
    ("Lyon", "Rue Verte 41", "69001", "Lyon", "France"),
    ("Malmö", "Storgatan 7", "21120", "Malmö", "Sweden"),
)


def change(context):
    """Draw who starts when and where, and gets what."""
    rng, month = context.rng, context.params["month"]["number"]
    soon = context.params["soon"]["day"]
    # Days of the month for those who are waiting: one before, one on and one after the limit.
    days = [(month, rng.randint(2, soon - 1)), (month, soon), (month, rng.randint(soon + 1, 28))]
    days += [
        (month, rng.randint(2, 28)),
        (month - 1, rng.randint(2, 28)),
        (month + 1, rng.randint(2, 28)),
    ]
    days += [(7 - month, rng.randint(2, 28))]
    orders = [None, None, None, 880, 990, None, None]
    people = rng.sample(PEOPLE, len(PEOPLE))
    lines = []
    for (at, day), order, name in zip(days, orders, people, strict=True):
        title, colour = rng.choice(ITEMS)
        office = rng.choice(OFFICES)[0]
        lines.append([name, f"2026-{at:02}-{day:02}", office, title, colour, order])
    rng.shuffle(lines)
    book = context.call(
        "sheets_create_workbook", name="Welcome parcels 2026", sheets=["People", "Offices"]
    )
    head = ["Name", "First day", "Office", "Parcel", "Colour", "Order"]
    _append(context, book, "People", [head, *lines])
    head = ["Office", "Street", "Postal code", "Town", "Country"]
    # An apostrophe keeps a postal code a text.
    rows = [[office, street, f"'{code}", *rest] for office, street, code, *rest in OFFICES]
    _append(context, book, "Offices", [head, *rows])
    places = {
        office: [street, code, town, country] for office, street, code, town, country in OFFICES
    }
    wanted = {}
    for row, (name, day, office, title, colour, order) in enumerate(lines, 2):
        if order is None and day.startswith(f"2026-{month:02}"):
            delivery = "express" if int(day[-2:]) < soon else "standard"
            card = f"Welcome to Fairlead, {name.split()[0]}!"
            wanted[name] = [row, *places[office], delivery, card, title, colour]
    sheet = context.db.value(
        "SELECT id FROM sheets_sheet WHERE workbook_id = ? AND name = 'People'", book["id"]
    )
    context.gold("wanted.json", json.dumps({"sheet": sheet, "people": wanted}))


def _append(context, book, sheet, rows):
    context.call("sheets_append_rows", workbook=book["id"], sheet=sheet, rows=rows)
