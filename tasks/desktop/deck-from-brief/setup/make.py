"""A brief of one page: what stands on six slides, and two remarks that change it."""

from documents import HOME, finish, new_document, save_document
from docx.shared import Pt

SLIDES = (
    (
        "Slide 1, the title slide",
        "Title: We move to Harbour Street",
        ["Subtitle: All-hands, 12 March 2026"],
    ),
    ("Slide 2", "Title: What we talk about", ["The titles of slides 3, 4 and 5, in this order"]),
    (
        "Slide 3",
        "Title: When we move",
        [
            "Boxes are packed until Thursday, 14 May",
            "The lorries come on Friday, 15 May",
            "Desks and network are ready on Monday, 18 May",
        ],
    ),
    (
        "Slide 4",
        "Title: Where you will sit",
        [
            "Support and sales on the first floor",
            "Development on the second floor",
            "Accounts beside the reception",
            "Quiet rooms on both floors",
        ],
    ),
    (
        "Slide 5",
        "Title: What you have to do",
        [
            "Label your boxes with name and floor",
            "Take plants and cups home",
            "Give the old key to Bo Lind",
        ],
    ),
    (
        "Slide 6, the last one",
        "Title: Any questions?",
        ["Ask Gita Nguyen, room 114", "The plans hang in the kitchen"],
    ),
)
document = new_document()
document.styles["Normal"].paragraph_format.space_after = Pt(3)
document.add_heading("Brief: slides for the all-hands", 1)
document.add_paragraph("From Miriam Adler, 4 March 2026. Six slides, no pictures, no footers.")
for name, title, points in SLIDES:
    document.add_heading(name, 2)
    document.add_paragraph(title)
    for point in points:
        document.add_paragraph(point, style="List Bullet")
document.add_heading("Changes of this morning", 2)
document.add_paragraph(
    "The removal firm has put us off by a week. On slide 3 the days become 21 May, 22 May and "
    "25 May; the days of the week stay."
)
document.add_paragraph(
    "Nobody has decided yet where accounts will sit: slide 4 loses the point about them."
)
save_document(document, HOME / "Documents" / "brief.docx")
finish("libreoffice --writer /home/user/Documents/brief.docx")
