"""Eight letters and a page of adverts as a scanner leaves them, in a drawn order."""

import datetime
import hashlib
import random

from documents import HOME, finish, gold, parameters
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas

SENDERS = (
    ("Arkwright Office Supplies", "Dock Road 8, Hamburg", "#3b5b7a"),
    ("Bellamy & Sons Ltd", "12 Mill Lane, Leeds", "#7a3b3b"),
    ("Castellan Catering", "Garden Street 40, Potsdam", "#2f6b4f"),
    ("Dunmore Cleaning Services", "Station Square 3, Berlin", "#5a4a7a"),
    ("Fenwick Insurance", "King's Avenue 101, Cologne", "#1f4e79"),
    ("Greaves Lifts and Doors", "Forge Street 17, Essen", "#444444"),
    ("Holloway Office Furniture", "Harbour Street 2, Bremen", "#8a5a1f"),
    ("Kestrel Telecom", "Tower Park 6, Munich", "#0f6d75"),
    ("Larkspur Property", "Chestnut Road 25, Berlin", "#64702a"),
)
LETTERS = (
    (
        "Your contract from {later}",
        "Dear Ms Nguyen,",
        "the monthly fee of your contract rises by 2.1 percent. The new amount is due for the",
        "first time on {later}. The contract of {earlier} stays as it is otherwise.",
    ),
    (
        "Our visit on {later}",
        "Dear Sir or Madam,",
        "our colleague comes to you on {later}, between 8 and 10 o'clock. Please have the",
        "papers of {earlier} ready. {other} was told as well.",
    ),
    (
        "Reminder: invoice 20417",
        "Dear Ms Nguyen,",
        "our invoice of {earlier} for 418.60 EUR is still open. Please pay until {later}.",
        "If your payment has crossed this letter, please take no notice of it.",
    ),
    (
        "New contact",
        "Dear customers,",
        "from {later} on, Tomas Reuter looks after your account. You reach him under the",
        "number that you know. Our colleague Ines Falk leaves us for {other}.",
    ),
    (
        "Your complaint of {earlier}",
        "Dear Mr Okafor,",
        "we are sorry for the mistake in our last two bills. The money goes back to your account",
        "until {later}. The mistake was not ours alone; {other} had sent us wrong figures.",
    ),
    (
        "End of contract 88-1203",
        "Dear Sir or Madam,",
        "we confirm your notice, which reached us on {earlier}. The contract ends on {later}.",
        "Please return the keys to our office on that day.",
    ),
    (
        "Prices of the new year",
        "Dear customers,",
        "from {later} our prices rise by three percent. For what you have ordered before, the",
        "old prices stay, as agreed on {earlier}.",
    ),
    (
        "Second reminder: invoice 20391",
        "Dear Ms Nguyen,",
        "you have not answered our letter of {earlier}. We ask you to pay 96.40 EUR until",
        "{later}. After that day we have to hand the matter over to {other}.",
    ),
)
FORMS = ("{0.day} {0:%B} {0.year}", "{0:%B} {0.day}, {0.year}", "{0:%d.%m.%Y}", "{0:%Y-%m-%d}")
ADVERTS = (
    (
        "SPRING SALE",
        "Everything for the garden, up to 40 percent off",
        "16 February to 14 March 2026",
    ),
    ("PIZZA CORNER", "Two for one on Tuesdays", "Order by phone, from 11 February 2026"),
)


def page(path):
    """Return the canvas of a page, on the paper that a scanner sees."""
    made = Canvas(str(path), pagesize=A4, invariant=1)
    made.setTitle("Scan")
    made.setFillColor(HexColor("#f6f4ee"))
    made.rect(0, 0, *A4, stroke=0, fill=1)
    return made


def letter(path, sender, shown, lines):
    """Draw a letter, and the stamp of the day on which it came."""
    name, address, colour = sender
    made = page(path)
    made.setFillColor(HexColor(colour))
    made.setFont("Times-Bold", 22)
    made.drawString(25 * mm, 268 * mm, name)
    made.setFont("Times-Roman", 10)
    made.drawString(25 * mm, 261 * mm, address)
    made.line(25 * mm, 257 * mm, 185 * mm, 257 * mm)
    made.setFillColor(HexColor("#222222"))
    made.setFont("Times-Roman", 13)
    for number, line in enumerate(("Fairlead Software", "Harbour Street 12", "10115 Berlin")):
        made.drawString(25 * mm, (240 - 6 * number) * mm, line)
    made.drawString(25 * mm, 212 * mm, shown)
    subject, greeting, *texts = lines
    made.setFont("Times-Bold", 13)
    made.drawString(25 * mm, 198 * mm, subject)
    made.setFont("Times-Roman", 13)
    made.drawString(25 * mm, 186 * mm, greeting)
    for number, line in enumerate((*texts, "", "Yours sincerely", "", name)):
        made.drawString(25 * mm, (176 - 7 * number) * mm, line)
    made.setStrokeColor(HexColor("#a03030"))
    made.setFillColor(HexColor("#a03030"))
    made.setFont("Courier-Bold", 12)
    made.rect(130 * mm, 95 * mm, 48 * mm, 18 * mm)
    made.drawString(135 * mm, 106 * mm, "RECEIVED")
    made.drawString(135 * mm, 99 * mm, "2 March 2026")
    made.save()


def adverts(path, sender):
    """Draw a page of adverts; one of them is by a firm that also writes letters."""
    made = page(path)
    offers = (*ADVERTS, (sender[0], "Ask for our new catalogue", "Valid until 31 March 2026"))
    for number, (head, text, when) in enumerate(offers):
        low = (200 - 85 * number) * mm
        made.setStrokeColor(HexColor("#333333"))
        made.rect(25 * mm, low, 160 * mm, 70 * mm)
        made.setFillColor(HexColor(("#b3261e", "#1b5e20", sender[2])[number]))
        made.setFont("Helvetica-Bold", 26)
        made.drawCentredString(105 * mm, low + 45 * mm, head)
        made.setFillColor(HexColor("#222222"))
        made.setFont("Helvetica", 13)
        made.drawCentredString(105 * mm, low + 28 * mm, text)
        made.drawCentredString(105 * mm, low + 16 * mm, when)
    made.save()


def digest(path):
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


draw = random.Random(parameters()["seed"])
senders = draw.sample(SENDERS, 7)
pool = [datetime.date(2026, month, number) for month in (1, 2) for number in range(13, 29)]
days = sorted(draw.sample(pool, 7))
# Numbers of days above 12 cannot be taken for months. Two senders wrote on the same day, one twice.
written = [*zip(senders, days, strict=True), (senders[0], days[3])]
draw.shuffle(written)
order, texts = list(range(9)), draw.sample(LETTERS, 8)
draw.shuffle(order)
folder = HOME / "Scans"
folder.mkdir()
names = {}
for number, place in enumerate(order, 1):
    path = folder / f"scan_{number:04d}.pdf"
    if place == 8:
        adverts(path, senders[1])
        kept = {path.name: digest(path)}
        continue
    sender, day = written[place]
    form = FORMS[place % 4]
    others = [one[0] for one in SENDERS if one not in senders]
    said = {
        "later": FORMS[0].format(datetime.date(2026, 3, 13) + datetime.timedelta(days=place)),
        "earlier": FORMS[0].format(datetime.date(2025, 11, 14) + datetime.timedelta(days=place)),
        "other": draw.choice(others),
    }
    shown = draw.choice(("", sender[1].rsplit(", ", 1)[1] + ", ")) + form.format(day)
    letter(path, sender, shown, [line.format(**said) for line in texts[place]])
    names[f"{day} {sender[0].split()[0]}.pdf"] = digest(path)
gold("scans.json", {"letters": names, "kept": kept})
finish("thunar /home/user/Scans")
