"""The guest list of a week ago, with the answers of that time."""

import random

from documents import HOME, finish, new_workbook, parameters, save_workbook, table, title

STAFF = {
    14: ("Florian Santos", "Engineering"),
    15: ("Joana Holm", "Engineering"),
    17: ("Rita Chen", "Engineering"),
    21: ("Sofia Fontaine", "Product"),
    22: ("Luís Hartmann", "Product"),
    23: ("Freya Rao", "Product"),
    26: ("Emil Lam", "Sales"),
    28: ("Gita Nguyen", "Sales"),
    29: ("Jae Baptista", "Sales"),
    30: ("Carlos Kim", "Sales"),
    32: ("Ilse Nowak", "Marketing"),
    35: ("Lena Almeida", "Marketing"),
    40: ("Liam Jensen", "Finance"),
    42: ("Akira Desai", "Finance"),
    44: ("Goran Brandt", "People"),
    49: ("Bruno Haas", "IT"),
    50: ("Marco Schmitt", "IT"),
    53: ("Bo Lindqvist", "Support"),
    57: ("Farid Nouri", "Support"),
    58: ("Greta Sommer", "Support"),
}
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Office</title></head>
<body><h1>Fairlead Software</h1><ul>
<li><a href="http://mail.office.example/">Mail</a></li>
<li><a href="http://calendar.office.example/">Calendar</a></li>
<li><a href="http://contacts.office.example/">Contacts</a></li>
</ul></body></html>
"""
given = parameters()
draw = random.Random(given["seed"])  # services.py draws the same people
gone, *others = draw.sample(tuple(STAFF), 9)
listed = [("Camille Reyes", "Engineering"), *(STAFF[one] for one in (gone, *others[:7]))]
earlier = random.Random(-given["seed"])
rows = [[*person, earlier.choice(("open", "open", "yes", "maybe"))] for person in sorted(listed)]

book = new_workbook("Guests")
sheet = book["Guests"]
title(sheet, given["case"]["title"], f"{given['case']['when']}, the Berlin office")
sheet["A3"], sheet["B3"] = "Room", "Beech"
table(sheet, 5, ("Name", "Department", "Answer"), rows, (None, None, None), (26, 18, 14))
save_workbook(book, HOME / "Documents" / "guests.xlsx")
(HOME / "office.html").write_text(PAGE)
finish(
    "firefox-esr /home/user/office.html",
    "libreoffice --calc /home/user/Documents/guests.xlsx",
)
