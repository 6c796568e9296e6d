"""An inbox of six weeks; the invoices of all suppliers have the same useless name."""

import datetime
import hashlib
import random
from mailbox import message, set_up_mail

from documents import HOME, finish, gold, parameters, pdf

SUPPLIERS = {
    "Arkwright Print": "billing@arkwright.example",
    "Bellamy Catering": "office@bellamy.example",
    "Holloway Furniture": "accounts@holloway.example",
}
PREFIXES = {"Arkwright Print": "AP", "Bellamy Catering": "BC", "Holloway Furniture": "HF"}
COLLEAGUES = (
    ("Miriam Adler", "miriam@fairlead.example"),
    ("Jonas Petri", "jonas@fairlead.example"),
)
NOTES = (
    ("Lunch on Thursday", "Shall we go to the new place by the bridge?\n"),
    ("Room for the interviews", "I have booked B for both days.\n"),
    ("Minutes of Monday", "They are in the usual folder, please look at item 3.\n"),
    ("Key for the cellar", "It is back at the front desk.\n"),
)
given = parameters()
draw = random.Random(given["seed"])
scratch = HOME / "scratch.pdf"


def invoice(supplier, number, day):
    """Return an invoice as PDF."""
    total = draw.randrange(9_000, 88_000)
    rows = [("Item", "Amount EUR"), ("Delivery of the month", f"{total / 100:,.2f}")]
    head = [f"Invoice {number}", "To: Fairlead Software, Berlin", f"Date: {day:%d %B %Y}", ""]
    pdf(scratch, supplier, head, rows, (110, 40), ["Payable within 14 days."])
    data = scratch.read_bytes()
    scratch.unlink()
    return data


kinds = [(name, "invoice") for name in SUPPLIERS for _ in range(3)]
kinds += [(given["supplier"], "offer"), *((None, note) for note in NOTES)]
draw.shuffle(kinds)
day, mails, wanted = datetime.datetime(2026, 1, 12, 8, 5), [], {}
numbers = {name: draw.randrange(2100, 2600) for name in SUPPLIERS}
for place, (supplier, kind) in enumerate(kinds, 1):
    day += datetime.timedelta(days=draw.randrange(1, 4))
    day = day.replace(hour=draw.randrange(7, 18), minute=draw.randrange(60))
    if supplier is None:
        mails.append(message(place, draw.choice(COLLEAGUES), kind[0], day, kind[1]))
        continue
    sender = (supplier, SUPPLIERS[supplier])
    numbers[supplier] += draw.randrange(3, 40)
    code = f"{PREFIXES[supplier]}-{numbers[supplier]}"
    data = invoice(supplier, code, day)
    if kind == "offer":
        text = "Dear customers,\n\nthis spring we have a special offer for you.\n"
        mails.append(message(place, sender, "Our offer for spring", day, text))
        continue
    text = f"Dear Sir or Madam,\n\nplease find attached our invoice {code}.\n\n"
    text += f"Kind regards\n{supplier}\n"
    mails.append(
        message(place, sender, f"Invoice for {day:%B}", day, text, [("document.pdf", data)])
    )
    if supplier == given["supplier"]:
        wanted[f"{code}.pdf"] = hashlib.sha256(data).hexdigest()
gold("invoices.json", wanted)
(HOME / "Invoices").mkdir()
set_up_mail(mails)
finish("claws-mail")
