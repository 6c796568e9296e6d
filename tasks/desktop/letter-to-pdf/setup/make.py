"""A letter with placeholders, and a list of contacts in which some people stand twice."""

import datetime
import random

from documents import (
    HOME,
    finish,
    gold,
    new_document,
    new_workbook,
    parameters,
    save_document,
    save_workbook,
    table,
    title,
)

PEOPLE = (
    ("Ms", "Ruth Bellamy", "14 Orchard Road", "LS6 2AB Leeds", "3 Bishop Street", "LS2 7PQ Leeds"),
    ("Mr", "Jonas Castor", "8 Quay Street", "BS1 4QA Bristol"),
    ("Mr", "Paul Marsh", "21 Mill Bank", "DH1 3HW Durham", "7 Elvet Hill", "DH1 9TJ Durham"),
    ("Mr", "Peter Marsh", "7 Mill Bank", "DH1 3HW Durham"),
    ("Ms", "Nora Webb", "30 Park Row", "BA1 2XT Bath", "112 Wells Way", "BA2 5DR Bath"),
    ("Ms", "Clara Fenwick", "51 Kiln Way", "ST4 1NB Stoke"),
    ("Dr", "Aoife Dunmore", "88 Castle Lane", "YO1 9RT York", "2 Minster Yard", "YO1 7JB York"),
    ("Mr", "Norman Webb", "4 Abbey Green", "BA1 1NW Bath"),
)
COLUMNS = ("Name", "Title", "Street", "Town", "Status", "Visit", "Meter")
TEXT = (
    "Fairlead Heating, 12 Harbour Street, Leeds",
    "<Title> <Name>",
    "<Street>",
    "<Town>",
    "Leeds, 16 March 2026",
    "Your heating: visit on <Visit>",
    "Dear <Title> <Name>,",
    "we look after the heating in your flat once a year. "
    "Our fitter comes on <Visit>, between 8 and 12 o'clock, and needs about half an hour.",
    "Please see to it that somebody is at home at <Street> and that meter <Meter> can be reached.",
    "If the day does not suit you, call us on 0113 496 0182.",
    "Kind regards",
    "Gita Nguyen, customer service",
)
given = parameters()
draw = random.Random(given["seed"])
rows = []
for call, name, *homes in PEOPLE:
    places = [homes[at : at + 2] for at in range(0, len(homes), 2)]
    draw.shuffle(places)
    now = draw.randrange(len(places))
    for number, (street, town) in enumerate(places):
        day = datetime.date(2026, 4, 1) + datetime.timedelta(days=draw.randrange(90))
        status = "current" if number == now else "moved"
        # A date in a cell would have another form in the tree than on the screen.
        visit, meter = f"{day.day} {day:%B %Y}", f"M-{draw.randrange(30_000, 80_000)}"
        rows.append([name, call, street, town, status, visit, meter])
draw.shuffle(rows)
book = new_workbook("Contacts")
sheet = book["Contacts"]
title(sheet, "Contacts of the heating service", "Spring round 2026")
table(sheet, 4, COLUMNS, rows, (), (18, 7, 18, 20, 10, 18, 11))
save_workbook(book, HOME / "Letters" / "contacts.xlsx")

document = new_document()
for number, text in enumerate(TEXT):
    document.add_paragraph().add_run(text).bold = number == 5
save_document(document, HOME / "Letters" / "visit-template.docx")
(row,) = (row for row in rows if row[0] == given["person"] and row[4] == "current")
filled = dict(zip(COLUMNS, row, strict=True))
letter = list(TEXT)
for name, value in filled.items():
    letter = [text.replace(f"<{name}>", value) for text in letter]
gold("letter.json", letter)
finish(
    "libreoffice --calc /home/user/Letters/contacts.xlsx",
    "libreoffice --writer /home/user/Letters/visit-template.docx",
)
