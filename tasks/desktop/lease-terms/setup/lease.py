"""A lease as a PDF of one clause a page or more: ``lease.py FILE JSON`` writes it, always alike.

The JSON has ``number``, ``tenant``, ``rent``, ``deposit``, ``bank``, ``notice`` (months),
``amended`` (months after the amendment, 0 for no amendment) and ``without``, a clause that is left
out. ``lease.txt`` has the clauses.
"""

import json
import os
import sys

from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer

with open(os.path.join(os.path.dirname(__file__), "lease.txt")) as file:
    CLAUSES = [part.split("\n") for part in file.read().strip().split("\n\n")]


def write(path, told):
    """Write the lease."""
    styles = getSampleStyleSheet()
    story = [
        Spacer(1, 120),
        Paragraph(f"Lease {told['number']}", styles["Title"]),
        Paragraph("between Hallam Estates Ltd, landlord,", styles["Normal"]),
        Paragraph(f"and {told['tenant']}, tenant", styles["Normal"]),
    ]
    for number, (title, *texts) in enumerate(CLAUSES, 1):
        if title == told.get("without"):
            continue
        story += [PageBreak(), Paragraph(f"{number}. {title}", styles["Heading1"])]
        for place, text in enumerate(texts, 1):
            line = f"{number}.{place} {text.format(**told)}"
            story += [Paragraph(line, styles["Normal"]), Spacer(1, 10)]
    if told.get("amended"):
        story += [
            PageBreak(),
            Paragraph("Amendment 1", styles["Heading1"]),
            Paragraph(
                "Of 18 November 2024. In clause 7.1 the words "
                f"“{told['notice']} months” are replaced by “{told['amended']} months”. "
                "All else stays as it is.",
                styles["Normal"],
            ),
        ]
    document = SimpleDocTemplate(path, pagesize=A4, title=f"Lease {told['number']}", invariant=1)
    document.build(story)


write(sys.argv[1], json.loads(sys.argv[2]))
