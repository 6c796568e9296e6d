"""An address list as several people have kept it for years."""

import random

from documents import HOME, finish, gold, new_workbook, parameters, save_workbook, table, title

CITIES = (("Berlin", "30"), ("Hamburg", "40"), ("Munich", "89"), ("Potsdam", "331"))
CITIES += (("Leipzig", "341"), ("Cologne", "221"))
FIRST = ("Miriam", "Jonas", "Petra", "Emil", "Sofia", "Henrik", "Lena", "Oskar", "Tessa", "Karim")
LAST = ("Adler", "Brandt", "Dorn", "Fuchs", "Hartwig", "Jensen", "Kessler", "Lindner", "Okafor")
LAST += ("Pohl", "Reuter", "Sander", "Thiel", "Ulrich", "Vogt", "Weiss")
COMPANIES = ("Fairlead Software", "Nordwind Energy", "Castellan Catering", "Bluebird Travel")
COMPANIES += ("Holloway Furniture", "Old Market Books", "Harbour Logistics", "Seidel Printing")
STYLES = (
    lambda area, a, b: f"0{area}/{a} {b}",
    lambda area, a, b: f"(0{area}) {a}{b}",
    lambda area, a, b: f"+49 (0){area} {a}-{b}",
    lambda area, a, b: f"0049 {area} {a}{b}",
    lambda area, a, b: f"0{area}-{a}{b}",
    lambda area, a, b: f"+49{' '}{area} {a} {b}",
)
given = parameters()
draw = random.Random(given["seed"])


def address(name, company):
    first, last = name.lower().split()
    return f"{first}.{last}@{company.split()[0].lower()}.example"


def number(area):
    return area, str(draw.randrange(200, 990)), f"{draw.randrange(1000, 9990)}"


people = []
lasts = draw.sample(LAST, 15)
for place, last in enumerate(lasts):
    name, company = f"{FIRST[place % 10]} {last}", draw.choice(COMPANIES)
    city, area = draw.choice(CITIES)
    people.append([name, company, city, address(name, company), number(area)])
# Two that only look alike: the same name elsewhere, and a colleague at the same number.
name, company, city, _, phone = people[3]
other = draw.choice([one for one in COMPANIES if one != company])
alike = [name, other, city, address(name, other), number(phone[0])]
name, company, city, _, phone = people[8]
first = draw.choice([one for one in FIRST if one not in name])
colleague = [f"{first} {name.split()[1]}", company, city, "", phone]
colleague[3] = address(colleague[0], company)
people[9:9] = [alike]
people.append(colleague)

clean = [[n, c, town, mail, f"+49 {p[0]} {p[1]}{p[2]}"] for n, c, town, mail, p in people]
rows = [list(row) for row in clean]
dirty = draw.sample(range(len(rows)), 11)
for turn, place in enumerate(dirty):
    rows[place][4] = STYLES[turn % len(STYLES)](*people[place][4])
for turn, place in enumerate(draw.sample(range(len(rows)), 6)):
    column, text = turn % 3, rows[place][turn % 3]
    if turn < 2 or " " not in text:
        text = f" {text}" if turn % 2 else f"{text} "
    else:
        text = text.replace(" ", "  ", 1)
    rows[place][column] = text

# Three rows are there twice: once as it is, once in capitals, once with a number of long ago.
again = sorted(draw.sample((0, 1, 4, 5, 6, 7), 3), reverse=True)
for turn, place in enumerate(again):
    name, company, city, mail, phone = people[place]
    mail = (mail, mail.replace(name.lower().split()[1], name.split()[1].upper()), mail)[turn]
    phone = number(phone[0]) if turn == 2 else phone
    copy = [name, company, city, mail, STYLES[(turn + 3) % 6](*phone)]
    rows.insert(draw.randrange(place + 2, len(rows)), copy)

gold("addresses.json", [[row[3]] for row in clean] + [[""]] * 3)
gold("phones.json", [[row[4]] for row in clean] + [[""]] * 3)
gold("names.json", [row[:3] for row in clean] + [[""] * 3] * 3)

book = new_workbook(given["list"], "Mailings")
sheet = book[given["list"]]
title(sheet, f"{given['list']} of the Berlin office", "Kept by everyone, please do not sort")
header = ("Name", "Company", "City", "E-mail", "Phone")
table(sheet, 4, header, rows, (None, None, None, None, "@"), (20, 22, 12, 36, 22))
mailings = book["Mailings"]
title(mailings, "Mailings")
table(
    mailings,
    3,
    ("Month", "Subject", "Recipients"),
    [["2025-06", "Summer party", 19], ["2025-11", "New prices", 20]],
    (),
    (12, 24, 12),
)
save_workbook(book, HOME / "contacts.xlsx")
finish("libreoffice --calc /home/user/contacts.xlsx")
