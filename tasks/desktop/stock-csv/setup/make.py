"""The stock of a shop, with names in several languages and a second sheet."""

import random

from documents import HOME, finish, gold, new_workbook, parameters, save_workbook, table, title

ARTICLES = (
    ("Desk lamp “Solé”", "Lamps"),
    ("Wärmflasche; rot", "Household"),
    ("Café cups, set of 6", "Kitchen"),
    ("Tea towel 50x70", "Kitchen"),
    ("Door mat “Hello”", "Household"),
    ("Żyrardów linen", "Household"),
    ("Fountain pen", "Paper"),
    ("Notebook A5, dotted", "Paper"),
    ("Candle, 20 h", "Household"),
)
given = parameters()
draw = random.Random(given["seed"])
book = new_workbook("Stock", "Suppliers")
sheet = book["Stock"]
rows = [
    [
        f"{given['prefix']}{draw.randrange(100, 1000)}-{number:02d}",
        name,
        group,
        draw.randrange(0, 90),
        draw.randrange(250, 9_900) / 100,
    ]
    for number, (name, group) in enumerate(ARTICLES, 1)
]
table(
    sheet,
    1,
    ("Article", "Name", "Group", "Stock", "Price"),
    rows,
    (None, None, None, "0", "0.00"),
    (14, 28, 14, 9, 10),
)
suppliers = book["Suppliers"]
title(suppliers, "Suppliers")
table(
    suppliers,
    3,
    ("Group", "Supplier"),
    (("Lamps", "Solé S.A."), ("Kitchen", "Meier & Sons")),
    (),
    (14, 24),
)
save_workbook(book, HOME / "Documents" / "stock.xlsx")


def quoted(value):
    return (
        '"' + value.replace('"', '""') + '"'
        if isinstance(value, str)
        else f"{value:.2f}"
        if isinstance(value, float)
        else str(value)
    )


lines = [
    ";".join(map(quoted, row)) for row in [["Article", "Name", "Group", "Stock", "Price"], *rows]
]
gold("lines.json", lines)
finish("libreoffice --calc /home/user/Documents/stock.xlsx")
