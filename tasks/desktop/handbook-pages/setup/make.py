"""The handbook of an office; every chapter begins on a page of its own."""

from documents import HOME, finish, new_document, save_document

CHAPTERS = (
    (
        "Welcome",
        "This handbook holds what every new colleague asks in the first week.",
        "Keys and badges come from the front desk, on the first floor. "
        "Lost keys are reported on the same day.",
    ),
    (
        "Salaries",
        "Salaries are paid on the 27th of a month.",
        "Talk about figures with your team lead only. Errors are corrected with the next payment.",
    ),
    (
        "Travel",
        "Journeys are booked at least ten days ahead, by train where it takes less than six hours.",
        "Tickets of the second class are paid; a seat is reserved. "
        "A rail card pays off from three journeys on.",
    ),
    (
        "Hotels",
        "A night may cost 135 EUR with breakfast, 160 EUR during a fair.",
        "Bills are made out to Fairlead Software, Harbour Street 12, Berlin, not to you.",
    ),
    (
        "Holidays",
        "Everybody has thirty days. "
        "Five of them may be taken until the end of March of the next year.",
        "Ask your team before you book.",
    ),
    (
        "Leaving",
        "Notice is given in writing. Return keys, badge and laptop to the front desk.",
        "A reference comes within four weeks.",
    ),
)
document = new_document()
for number, (name, *texts) in enumerate(CHAPTERS):
    heading = document.add_heading(f"{number + 1} {name}", 1)
    heading.paragraph_format.page_break_before = number > 0
    for text in texts:
        document.add_paragraph(text)
save_document(document, HOME / "Documents" / "handbook.docx")
finish("libreoffice --writer /home/user/Documents/handbook.docx")
