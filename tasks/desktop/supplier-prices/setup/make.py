"""Writes the price lists of three suppliers as pages, the order form, and the right order."""

import json
import os
from random import Random

params = json.loads(os.environ["AGENTGYM_PARAMS"])
ARTICLES = (
    "address labels", "bubble wrap", "cable ties", "carton 30 x 20", "carton 40 x 30", "clipboards",
    "document pouches", "edge guards", "filling chips", "gloves", "knife blades", "label rolls",
    "markers", "packing paper", "packing tape", "pallet foil", "sack barrows", "stretch film",
)  # fmt: skip
# Name, page, delivery, free from, smallest order, discount from so many pieces, per cent; cents.
KEYS = ("name", "page", "delivery", "free", "least", "from", "off")
SUPPLIERS = [
    dict(zip(KEYS, values, strict=True))
    for values in (
        ("Marten Supplies", "marten", 690, 15000, 1, 10, 8),
        ("Packhaus Reuter", "reuter", 950, 12000, 1, 15, 15),
        ("Boxwell Direct", "boxwell", 0, 0, 25, 50, 10),
    )
]
STYLE = "body { font-family: sans-serif } td, th { padding: 2px 14px; text-align: left }"


def page(title, body):
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    text = f"<head>{head}</head><body><h1>{title}</h1>\n{body}\n</body>"
    return f'<!DOCTYPE html><html lang="en">{text}</html>\n'


def money(cents):
    return f"{cents // 100}.{cents % 100:02}"


os.makedirs("/home/user/Offers")
os.chdir("/home/user/Offers")
found = {}
for number, supplier in enumerate(SUPPLIERS):
    rows = []
    for place, article in enumerate(ARTICLES):
        code = f"{'MRB'[number]}{number + 2}{place * 7 + 103}"
        # The one who sells in bulk only is always the cheapest by the piece.
        price = Random(article).randrange(310, 990) * (100, 103, 82)[number] // 100
        rows.append(f"<tr><td>{code}</td><td>{article}</td><td>{money(price)}</td></tr>")
        found[supplier["page"], article] = (code, price)
    least = supplier["least"]
    delivery, free = supplier["delivery"], supplier["free"]
    terms = [
        f"Delivery {money(delivery)}, free from {money(free)}." if delivery else "Delivery free.",
        f"From {supplier['from']} pieces of an article {supplier['off']} per cent off its price.",
        f"Smallest order: {least} pieces of an article." if least > 1 else "No smallest order.",
    ]
    head = "<tr><th>No.</th><th>Article</th><th>Price each, EUR</th></tr>"
    table = "\n".join((f"<table>{head}", *rows, "</table>"))
    back = '<p><a href="index.html">All price lists</a></p>'
    body = f"<p>{' '.join(terms)}</p>\n{table}\n{back}"
    with open(f"{supplier['page']}.html", "w") as file:
        file.write(page(f"{supplier['name']}: price list", body))
links = "".join(f'<li><a href="{s["page"]}.html">{s["name"]}</a></li>' for s in SUPPLIERS)
with open("index.html", "w") as file:
    note = "<p>Saved on 2 June. Prices hold until the end of the month.</p>"
    file.write(page("Price lists of our suppliers", f"<ul>{links}</ul>{note}"))

offers = []
for supplier in SUPPLIERS:
    code, price = found[supplier["page"], params["article"]]
    pieces = params["pieces"]
    if pieces < supplier["least"]:
        continue
    total = pieces * price * 100
    if pieces >= supplier["from"]:
        total = total * (100 - supplier["off"]) // 100
    total = (total + 50) // 100
    if total < supplier["free"]:
        total += supplier["delivery"]
    offers.append((total, supplier["name"], code))
offers.sort()
assert offers[0][0] != offers[1][0]
form = f"""Order

Supplier:
Article no.:
Quantity: {params["pieces"]}
Total with delivery:
Ordered by: H. Lindqvist
""".split("\n")
with open("/home/user/order.txt", "w") as file:
    file.write("\n".join(form))
total, name, code = offers[0]
for line, value in ((2, name), (3, code), (5, money(total))):
    form[line] += f" {value}"
with open(os.path.join(os.environ["AGENTGYM_GOLD"], "order.txt"), "w") as file:
    file.write("\n".join(form))
