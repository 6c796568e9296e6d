"""A letter with placeholders, and the list of open invoices it is filled in from."""

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

CUSTOMERS = (
    ("Bellamy Garden Ltd", "Ms Ruth Bellamy", "14 Orchard Road", "Leeds LS6 2AB"),
    ("Castor Cycles", "Mr Jonas Castor", "3 Quay Street", "Bristol BS1 4QA"),
    ("Dunmore Dental", "Dr Aoife Dunmore", "88 Castle Lane", "Cork T12 X8K1"),
    ("Edwin & Marsh", "Ms Clara Marsh", "7 Mill Bank", "Durham DH1 3HW"),
    ("Fenwick Tiles", "Mr Paul Fenwick", "51 Kiln Way", "Stoke ST4 1NB"),
    ("Castor Cycling Club", "Ms Nora Webb", "30 Park Row", "Bath BA1 2XT"),
)
given = parameters()
draw = random.Random(given["seed"])
rows = [
    [
        *customer,
        f"F-{draw.randrange(2100, 2900)}",
        f"2026-0{draw.randrange(1, 3)}-{draw.randrange(10, 28)}",
        draw.randrange(9_000, 260_000) / 100,
    ]
    for customer in CUSTOMERS
]
book = new_workbook("Open")
sheet = book["Open"]
title(sheet, "Open invoices", "As of 16 March 2026, in EUR")
header = ("Company", "Contact", "Street", "Town", "Invoice", "Due", "Amount")
table(sheet, 4, header, rows, (*[None] * 6, "#,##0.00"), (24, 20, 20, 20, 10, 12, 13))
save_workbook(book, HOME / "Documents" / "open-invoices.xlsx")

TEXT = (
    "Fairlead Software, Harbour Street 12, Berlin",
    "[Company]",
    "[Contact]",
    "[Street]",
    "[Town]",
    "16 March 2026",
    "Reminder: invoice [Invoice]",
    "Dear [Contact],",
    "we have not yet received your payment of invoice [Invoice], which was due on [Due].",
    "Please transfer the open amount of [Amount] EUR by 30 March 2026 "
    "and name the number [Invoice].",
    "If your payment has crossed with this letter, please ignore it.",
    "Kind regards",
    "Miriam Adler, accounts",
)
document = new_document()
for number, text in enumerate(TEXT):
    paragraph = document.add_paragraph()
    paragraph.add_run(text).bold = number == 6
save_document(document, HOME / "Documents" / "reminder-template.docx")
company, contact, street, town, invoice, due, amount = rows[
    [row[0] for row in rows].index(given["company"])
]
filled = {
    "Company": company,
    "Contact": contact,
    "Street": street,
    "Town": town,
    "Invoice": invoice,
    "Due": due,
    "Amount": f"{amount:,.2f}",
}
letter = list(TEXT)
for name, value in filled.items():
    letter = [text.replace(f"[{name}]", value) for text in letter]
gold("letter.json", letter)
finish(
    "libreoffice --calc /home/user/Documents/open-invoices.xlsx",
    "libreoffice --writer /home/user/Documents/reminder-template.docx",
)
