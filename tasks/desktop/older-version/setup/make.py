"""An offer from which a section was lost, and the copy that the word processor kept of it."""

import shutil

from documents import HOME, finish, new_document, save_document

BEFORE = (
    ("Heading 1", "Scope"),
    (
        "",
        "We set up forty desks on two floors of Harbour Street 12 and take the old furniture away.",
    ),
    ("Heading 1", "Prices"),
    ("", "Setting up a desk costs 38.00 EUR, a cupboard 52.00 EUR."),
    ("", "Taking away old furniture costs 240.00 EUR for each lorry."),
    ("", "The prices hold until 30 April 2026."),
    ("Heading 1", "Dates"),
    ("", "We need three working days and begin in the week after your order."),
)
NOW = (
    *BEFORE[:2],
    *BEFORE[6:],
    ("", "We do not work on Saturdays."),
    ("Heading 1", "Insurance"),
    ("", "Damage is insured up to 50,000 EUR."),
)


def offer(parts, path):
    document = new_document()
    document.add_heading("Offer: moving an office", 0)
    for style, text in parts:
        document.add_paragraph(text, style=style or None)
    save_document(document, path)


offer(NOW, HOME / "Documents" / "moving-offer.docx")
kept = HOME / ".config/libreoffice/4/user/backup"
offer(BEFORE, kept / "moving-offer.docx")
(kept / "moving-offer.docx").rename(kept / "moving-offer.bak")
offer(BEFORE[:2], kept / "other.docx")
shutil.move(kept / "other.docx", kept / "cleaning-offer.bak")
finish("libreoffice --writer /home/user/Documents/moving-offer.docx")
