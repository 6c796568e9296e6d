"""Receipts of a journey in two currencies, notes with exchange rates, and a form to fill in."""

import random
from decimal import ROUND_HALF_UP, Decimal

from documents import HOME, finish, gold, grid, new_document, parameters, pdf, save_document

CURRENCIES = {"London": ("GBP", 1.16), "Zurich": ("CHF", 1.06), "Stockholm": ("SEK", 0.0893)}
SCALES = {"GBP": 1, "CHF": 1.3, "SEK": 12}
DRINKS = ("Red wine, 0.2 l", "Beer, 0.5 l", "White wine, 0.2 l", "Sparkling wine, glass")
BAR = ("Minibar: beer", "Minibar: gin", "Minibar: red wine")
DISHES = ("Soup of the day", "Fish of the day", "Risotto", "Roast chicken", "Apple cake", "Coffee")
DAYS = ("Thursday 12", "Friday 13", "Saturday 14", "Sunday 15", "Monday 16")
given = parameters()
draw = random.Random(given["seed"])
code, base = CURRENCIES[given["city"]]
scale, first = SCALES[code], given["traveller"].split()[0]


def priced(low, high):
    """Return a price in the foreign currency."""
    return (Decimal(draw.randrange(int(low * scale * 20), int(high * scale * 20))) / 20).quantize(
        Decimal("0.01")
    )


def home(low, high):
    """Return a price in euros."""
    return Decimal(draw.randrange(low * 100, high * 100)) / 100


def euros(amount, rate):
    return (amount * rate).quantize(Decimal("0.01"), ROUND_HALF_UP)


work = draw.choice(("Adapter for sockets", "Cable for the projector", "Memory stick"))
gifts = draw.sample(("Scarf", "Toy bus", "Chocolate", "Postcards", "Mug"), 2)
pleasure = draw.choice(("Boat trip", "Tower, one ticket", "Matinee, one ticket"))
# Place of issue, day, currency, items, those that are refunded.
meal = [(dish, priced(5, 19)) for dish in draw.sample(DISHES, 3)]
drinks = [(drink, priced(5, 12)) for drink in draw.sample(DRINKS, 2)]
bar = [(drink, priced(5, 11)) for drink in draw.sample(BAR, draw.randrange(1, 3))]
night = priced(110, 170)
lodging = [
    ("Room for two nights", 2 * night),
    ("Breakfast, twice", priced(18, 30)),
    ("City tax", priced(3, 8)),
]
tool, presents = [(work, priced(9, 24))], [(gift, priced(4, 28)) for gift in gifts]
shop = [*tool, *presents]
draw.shuffle(shop)
shuffled = [*meal, *drinks]
draw.shuffle(shuffled)
RECEIPTS = (
    (
        "R1",
        "Train",
        "Nordbahn Railways",
        "Thursday 12",
        "EUR",
        [("Return ticket", home(80, 190))],
        1,
    ),
    (
        "R2",
        "Taxi",
        f"{given['city']} Cabs",
        "Thursday 12",
        code,
        [("Ride, airport to hotel", priced(22, 48))],
        1,
    ),
    ("R3", "Dinner", "The Blue Anchor", "Friday 13", code, shuffled, meal),
    (
        "R4",
        "Hotel",
        "Hotel Lantern",
        "Saturday 14",
        code,
        [*lodging[:2], *bar, lodging[2]],
        lodging,
    ),
    ("R5", "Shop", "Hallam and Daughters", "Saturday 14", code, shop, tool),
    ("R6", "Ticket", "Visitors' Office", "Sunday 15", code, [(pleasure, priced(14, 40))], []),
    ("R7", "Parking", "Car Park Central", "Monday 16", "EUR", [("Five days", home(30, 75))], 1),
)


def refunded(items, kept):
    """Return the amount that is refunded; 1 stands for all items."""
    return sum((price for _, price in (items if kept == 1 else kept)), Decimal("0.00"))


def rate_of(day, currency):
    on = {"Saturday 14": "Friday 13", "Sunday 15": "Friday 13"}.get(day, day)
    return Decimal(1) if currency == "EUR" else rates[on]


# No line may be half a cent, which people round in two ways.
while True:
    rates = {
        day: Decimal(round(base * draw.uniform(0.985, 1.015), 4)).quantize(Decimal("0.0001"))
        for day in ("Thursday 12", "Friday 13", "Monday 16")
    }
    exact = [refunded(r[5], r[6]) * rate_of(r[3], r[4]) for r in RECEIPTS]
    if len(set(rates.values())) == 3 and all(value * 1000 % 10 != 5 for value in exact):
        break
wrong = rates["Friday 13"] + draw.choice((-1, 1)) * draw.randrange(11, 60) * Decimal("0.0001")

folder, rows = HOME / "Trip", []
for name, kind, issuer, day, currency, items, kept in RECEIPTS:
    total = sum(price for _, price in items)
    pdf(
        folder / f"{name}.pdf",
        issuer,
        [f"Receipt {name}", f"{day} March 2026, paid by card"],
        [("Item", f"Amount {currency}")]
        + [(item, f"{price:,.2f}") for item, price in items]
        + [("Total", f"{total:,.2f}")],
        (100, 40),
        ["All taxes are included. Thank you for your visit."],
    )
    amount, rate = refunded(items, kept), rate_of(day, currency)
    rows.append([f"{name} {kind}", currency, amount, rate, euros(amount, rate)])

(folder / "notes.txt").write_text(
    f"{given['city']}, 12 to 16 March 2026\n\n"
    "Rates of our bank, euros for one unit\n"
    + "".join(
        f"{day} March: 1 {code} = {wrong if day == 'Friday 13' else rate} EUR\n"
        for day, rate in rates.items()
    )
    + "The bank publishes none on Saturdays and Sundays.\n\n"
    f"R5: only the {work[0].lower()}{work[1:]} was for the talk, the rest is for my family.\n"
    f"R6: that was my free Sunday.\n\n{first}\n\n"
    "Later: the bank has corrected the rate of Friday, "
    f"it is 1 {code} = {rates['Friday 13']} EUR.\n"
)
document = new_document()
document.add_heading("Travel expense claim", 1)
document.add_paragraph(f"Name: {given['traveller']}")
document.add_paragraph(f"Journey: {given['city']}, 12 to 16 March 2026, conference with a talk")
document.add_heading("Rules", 2)
for rule in (
    "We refund travel, lodging, meals and what was needed for the work.",
    "Alcohol of any kind is not refunded, nor are gifts and other private things. Take such items "
    "out of the amount of their receipt.",
    "If nothing of a receipt is refunded, enter 0.00 under Amount and under EUR.",
    "The rate is that of the day on the receipt. If a day has no rate, the last one before it "
    "counts.",
    "Round each line to cents, and add up the rounded lines.",
):
    document.add_paragraph(rule, style="List Bullet")
document.add_heading("Receipts", 2)
header = ["Receipt", "Currency", "Amount", "Rate", "EUR"]
lines = [[row[0], "", "", "", ""] for row in rows]
grid(document, [header, *lines, ["Sum", "", "", "", ""]], (4.4, 2.6, 3, 3, 3))
document.add_paragraph()
document.add_paragraph(f"Signature: {given['traveller']}, 17 March 2026")
document.add_paragraph("Accounts pays within ten days.")
save_document(document, folder / "claim.docx")
total = sum(row[4] for row in rows)
gold("claim.json", {"rows": [[str(cell) for cell in row] for row in rows], "sum": str(total)})
finish("galculator", "thunar /home/user/Trip", "libreoffice --writer /home/user/Trip/claim.docx")
