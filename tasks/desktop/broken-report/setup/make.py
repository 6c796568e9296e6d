"""A report whose headings are bold lines, with empty paragraphs and the old name of the company."""

from documents import HOME, finish, new_document, save_document
from docx.shared import Pt

TITLE = "Annual report 2025"
BODY = (
    ("bold", "1 The year in short"),
    "Brightwell closed the year with sales of 2.31 million EUR, 6 per cent more than in 2024.",
    "",
    "The number of customers rose to 418. Forty of them came to Brightwell through recommendation.",
    "",
    "",
    ("bold", "1.1 Sales"),
    "Support contracts brought 1.42 million EUR, new licences 0.64 million and training the rest.",
    "",
    ("bold", "1.2 Costs"),
    "Salaries are the largest part with 1.28 million EUR. Rent stayed as it was.",
    ("bold", "Energy was 11 per cent cheaper than planned."),
    "",
    "",
    ("bold", "2 Products"),
    "",
    "Two products were looked after, and one is new.",
    ("bold", "2.1 Desk"),
    "Brightwell Desk 3 was sold until June; version 4 has taken its place.",
    "",
    "",
    "",
    ("bold", "2.2 Planner"),
    "Planner got a calendar that several people can use. 212 customers have it.",
    "",
    ("bold", "2.3 App"),
    "An app for the phone is tested with twelve customers.",
    "",
    ("bold", "3 Customers"),
    "What customers think was asked in October; 212 of 390 answered.",
    "",
    ("bold", "3.1 Praise"),
    "The hotline answers within two minutes. The Bellamy nursery wrote:",
    "",
    ("quote", "“We have worked with Brightwell since 2014 and have never waited for an answer.”"),
    "",
    ("bold", "3.2 Complaints"),
    "Invoices came late in spring. Since May Brightwell sends them on the first of the month.",
    "",
    "",
    ("bold", "4 Staff"),
    "At the end of the year 27 people worked for Brightwell, three more than before.",
    "",
    ("bold", "4.1 Training"),
    "Everybody had four days of training. 2 courses were held in the house.",
    "",
    ("bold", "5 Outlook"),
    "In May 2026 Brightwell moves to Harbour Street. Sales are planned to grow by 5 per cent.",
)
document = new_document()
normal = document.styles["Normal"].paragraph_format
normal.space_after = Pt(4)
document.add_heading(TITLE, 0)
for one in BODY:
    kind, text = ("", one) if isinstance(one, str) else one
    paragraph = document.add_paragraph()
    run = paragraph.add_run(text) if text else None
    if kind == "bold":
        run.bold = True
    elif kind == "quote":
        run.italic = True
        paragraph.paragraph_format.left_indent = Pt(24)
save_document(document, HOME / "Documents" / "annual-report.docx")
finish("libreoffice --writer /home/user/Documents/annual-report.docx")
