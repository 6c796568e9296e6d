"""A contract with the recorded changes of two people."""

from documents import HOME, finish, new_document, save_document
from docx.oxml import OxmlElement
from docx.oxml.ns import qn

US, THEM = "Miriam Adler", "Castellan Legal"
CLAUSES = (
    (
        "1. Subject",
        "Castellan Catering supplies lunches for the offices of Fairlead Software on working days.",
    ),
    (
        "2. Quantity",
        ["Orders are placed by ", (THEM, "10", "9"), " o'clock on the day of delivery."],
    ),
    (
        "3. Price",
        ["The price of a meal is ", (US, "9.40", "8.90"), " EUR, including value added tax."],
    ),
    ("4. Payment", ["Invoices are due within ", (THEM, "30", "14"), " days of their receipt."]),
    ("5. Allergens", ["Allergens are named on every menu", (US, "", " and on every box"), "."]),
    (
        "6. Term",
        [
            "The contract runs for ",
            (THEM, "one year", "three years"),
            " and is renewed by agreement only.",
        ],
    ),
    (
        "7. Notice",
        [
            "Either side may give notice ",
            (US, "three months", "six weeks"),
            " before the end of a quarter.",
        ],
    ),
    (
        "8. Substitutes",
        ["Dishes may be replaced ", (THEM, "after consultation", "without notice"), "."],
    ),
)


def changed(paragraph, author, old, new, number):
    for kind, text, part in (("w:del", old, "w:delText"), ("w:ins", new, "w:t")):
        if not text:
            continue
        change = OxmlElement(kind)
        change.set(qn("w:id"), str(number))
        change.set(qn("w:author"), author)
        change.set(qn("w:date"), f"2026-02-0{3 if author == US else 5}T10:00:00Z")
        run, told = OxmlElement("w:r"), OxmlElement(part)
        told.text = text
        told.set(qn("xml:space"), "preserve")
        run.append(told)
        change.append(run)
        paragraph._p.append(change)


document = new_document()
document.add_heading("Catering agreement", 0)
document.add_paragraph("between Fairlead Software, Berlin, and Castellan Catering, Potsdam")
for number, (name, text) in enumerate(CLAUSES):
    document.add_heading(name, 2)
    paragraph = document.add_paragraph()
    for piece in [text] if isinstance(text, str) else text:
        if isinstance(piece, str):
            paragraph.add_run(piece)
        else:
            changed(paragraph, *piece, 10 + number)
document.add_paragraph("Berlin, 10 February 2026")
save_document(document, HOME / "catering-agreement.docx")
finish("libreoffice --writer /home/user/catering-agreement.docx")
