"""A lease as a PDF of one clause a page or more: ``lease.py FILE JSON`` writes it, always alike.

The JSON has ``number``, ``tenant``, ``rent``, ``deposit``, ``bank``, ``notice`` (months), ``amended``
(months after the amendment, 0 for no amendment) and ``without``, a clause that is left out.
"""

import json
import sys

from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer

CLAUSES = (
    (
        "Premises",
        "The landlord lets to the tenant the rooms on the second floor of Weaver Court 8, about 214 "
        "square metres, with four parking places in the yard.",
        "The rooms are let as an office. Another use needs the landlord's consent in writing.",
        "A plan of the rooms is attached as schedule A. It does not warrant their exact size.",
    ),
    (
        "Beginning and term",
        "The lease begins on 1 March 2023 and runs for five years. After that it is extended by one "
        "year at a time, unless a party gives notice under clause 7.",
        "The keys are handed over on the working day before the beginning. A record is made of the "
        "state of the rooms and of the meters.",
    ),
    (
        "Rent",
        "The rent is EUR {rent} a month, without value added tax. It is due on the third working day "
        "of the month.",
        "From the third year on the rent follows the index of consumer prices, once a year, upwards "
        "and downwards. A change of less than 2 per cent is not made.",
        "The advance for heating and water is EUR 410 a month. It is settled by 30 September.",
    ),
    (
        "Deposit",
        "The tenant pays a deposit of EUR {deposit}, which the landlord keeps with {bank}, apart from "
        "its own money.",
        "Interest belongs to the tenant. The deposit is settled within four months after the end.",
    ),
    (
        "Repairs",
        "The tenant bears small repairs of up to EUR 180 each, and at most EUR 900 a year.",
        "The landlord maintains the roof, the walls, the lift and the heating.",
        "Damage has to be told at once. Who tells it late bears what that makes worse.",
    ),
    (
        "Alterations and signs",
        "Alterations need consent. At the end the tenant restores the former state, unless the landlord "
        "takes the alteration over.",
        "A sign at the entrance has the form that all tenants of the house use.",
    ),
    (
        "Notice",
        "After the first term each party may give notice of {notice} months to the end of a quarter.",
        "Notice has to be given in writing. The day on which the other party receives it counts.",
        "The right to end the lease for an important reason remains.",
    ),
    (
        "Subletting",
        "The tenant may sublet single rooms to firms of its group. It tells the landlord beforehand.",
        "The tenant answers for the subtenant as for itself.",
    ),
    (
        "Access",
        "The landlord may enter the rooms after announcing it two working days before, and at once if "
        "there is danger.",
    ),
    (
        "House rules",
        "Deliveries come through the yard. The gate is shut at 20:00.",
        "Waste is sorted. What does not fit into the bins is for the tenant to remove.",
    ),
    (
        "Final provisions",
        "Changes of this lease need a text that both parties sign.",
        "If a clause is void, the others stay in force.",
    ),
)


def write(path, told):
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
