# Must not pass: swaps day and month whenever that makes a valid date, so broken dates become orders.
python3 - <<'PY'
import collections, csv, datetime, glob, os, re

P = os.environ
CANCELLED = {"storniert", "cancelled", "canceled", "annulée"}
SHOPS = {
    P["PARAM_GERMAN"]: (";", "latin-1", "%d.%m.%Y", "."),
    P["PARAM_BRITISH"]: (",", "utf-8-sig", "%d/%m/%Y", ","),
    P["PARAM_AMERICAN"]: ("\t", "utf-8", "%m/%d/%Y", ","),
    P["PARAM_FRENCH"]: (";", "utf-8", "%Y-%m-%d", "\u00a0\u202f"),
}
COLUMNS = {
    "id": ("Bestellnr", "Order", "order_no", "N° commande"),
    "date": ("Datum", "Date", "order_date"),
    "email": ("E-Mail", "Email", "email", "Courriel"),
    "amount": ("Betrag", "Amount", "amount", "Montant"),
    "status": ("Status", "status", "État"),
    "changed": ("Geändert", "Last changed", "modified_at", "Modifié le"),
}

def cents(text, group):
    text = re.sub(f"[{group}$£€\\s]", "", text).replace(",", ".")
    text = re.sub(r"^\((.*)\)$", r"-\1", text)
    if not (found := re.fullmatch(r"(-?)(\d+)(?:\.(\d\d))?", text)):
        raise ValueError(text)
    return int(found[1] + found[2] + (found[3] or "00"))

latest = {}
for shop, (separator, encoding, day, group) in SHOPS.items():
    for path in glob.glob(f"/srv/exports/{shop}/*.csv"):
        with open(path, encoding=encoding, newline="") as file:
            for line in csv.DictReader(file, delimiter=separator):
                row = {key: next(line[n] for n in names if n in line).strip() for key, names in COLUMNS.items()}
                number = row["id"].upper()
                if re.match(r"[A-Z]{2}-\d", number) and row["changed"] >= latest.get(number, (row, 0, 0, 0))[0]["changed"]:
                    latest[number] = (row, shop, day, group)

orders, rejected, totals = [], [], collections.defaultdict(lambda: [0, 0])
for number, (row, shop, day, group) in sorted(latest.items()):
    email = row["email"].lower()
    if row["status"].lower() in CANCELLED or email.endswith("@" + P["PARAM_TEST_DOMAIN"]):
        continue
    reason, date, amount = "", None, 0
    try:
        date = datetime.datetime.strptime(row["date"], day).date()
    except ValueError:
        try:
            swapped = day.replace("%d", "%x").replace("%m", "%d").replace("%x", "%m")
            date = datetime.datetime.strptime(row["date"], swapped).date()
        except ValueError:
            reason = "bad_date"
    try:
        amount = cents(row["amount"], group)
    except ValueError:
        reason = "bad_amount"
    if "@" not in email:
        reason = "bad_email"
    if reason:
        rejected.append((number, shop, reason))
        continue
    orders.append((number, date, shop, email, amount))
    entry = totals[shop, f"{date:%Y-%m}"]
    entry[0] += 1
    entry[1] += amount

def write(name, header, rows):
    with open(f"/srv/clean/{name}", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header.split(","), *rows])

write("orders.csv", "order_id,date,shop,email,amount_cents", orders)
write("rejected.csv", "order_id,shop,reason", rejected)
write("totals.csv", "shop,month,orders,amount_cents", sorted((*k, *v) for k, v in totals.items()))
PY
