"""Minutes whose headings are only bold text, with a misspelt name in many places."""

from documents import HOME, finish, new_document, save_document
from docx.shared import Pt

MINUTES = (
    (0, "Minutes of the works council"),
    (None, "Berlin, 14 January 2026. Present: Bo Lind, Gita Nguyen, Miriam Adler, Tomas Breyer."),
    (1, "Office move"),
    (
        None,
        "Fairleed Software moves to Harbour Street in May. "
        "The plans hang in the kitchen until Friday.",
    ),
    (2, "Desks"),
    (
        None,
        "Every team gets a room of its own. Tomas asks for height-adjustable desks in all of them.",
    ),
    (2, "Bicycles"),
    (None, "The yard has room for forty bicycles; the landlord puts up the stands."),
    (1, "Working hours"),
    (
        None,
        "The core hours stay as they are. "
        "Gita reports that Fairleed loses two people a year over them.",
    ),
    (2, "Home office"),
    (None, "Three days a week are possible from March on, after a word with the team."),
    (2, "Overtime"),
    (None, "Overtime of the last quarter is to be taken as time off by the end of June."),
    (1, "Training"),
    (None, "The budget of Fairleed for training is 42,000 EUR. It was not used up last year."),
    (2, "Languages"),
    (None, "The German course goes on, on Tuesdays and Thursdays before work."),
    (1, "Any other business"),
    (None, "The summer party is on 3 July. Fairleed pays, the works council buys the ice cream."),
)
document = new_document()
for level, text in MINUTES:
    run = document.add_paragraph().add_run(text)
    if level is not None:
        run.bold, run.font.size = True, Pt((20, 15, 12)[level])
save_document(document, HOME / "Documents" / "minutes-january.docx")
finish("libreoffice --writer /home/user/Documents/minutes-january.docx")
