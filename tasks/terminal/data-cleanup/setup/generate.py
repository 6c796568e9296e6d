"""Write half a year of order exports of four shops, each in its own dialect.

Orders are made first, as plain values with all their versions; the exports are those values
in the shop's notation, and the expected tables are computed from the values, never by parsing.
"""

from __future__ import annotations

import calendar
import csv
import io
import json
import os
import random
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path

MONTHS = 6
ORDERS_PER_MONTH = 110
PEOPLE = """Anna Keller;Jürgen Krämer;Émilie Laurent;Tom Baker;Zoë Marsh;Sören Dahl;María López;
John O'Neill;Françoise Petit;Kurt Jäger;Priya Nair;Liam Walsh;Noémie Faure;Grace Hill;Uwe Köhler;
Chloé Girard;Sam Carter;Aoife Byrne;Hélène Roux;Björn Lang;Dana White;Inês Prado""".replace(
    "\n", ""
).split(";")
FIRMS = (
    "Huber, Sohn & Co",
    'Acme "North" Ltd',
    "Roux; Fils",
    "Bell & Partners, Inc.",
    "Atelier\nDuval",
    "Kraft\tWerk",
)
MAIL_HOSTS = (
    "mail.example",
    "post.example.org",
    "inbox.example.net",
    "kontor.example",
    "web.example.com",
)


@dataclass(frozen=True)
class Dialect:
    """The notation of one shop's exports."""

    prefix: str
    columns: dict[str, str]  # what a column holds: its name, in the order of the file
    phone: str  # a column that later exports insert after the customer
    delimiter: str
    encoding: str
    newline: str
    date_format: str
    bad_dates: tuple[str, ...]
    statuses: tuple[str, str, str]  # paid, refunded, cancelled
    total: str


DIALECTS = {
    "german": Dialect(
        prefix="DE",
        columns={
            "id": "Bestellnr",
            "date": "Datum",
            "customer": "Kunde",
            "email": "E-Mail",
            "amount": "Betrag",
            "status": "Status",
            "changed": "Geändert",
        },
        phone="Telefon",
        delimiter=";",
        encoding="latin-1",
        newline="\r\n",
        date_format="%d.%m.%Y",
        bad_dates=("31.02.{y}", "30.02.{y}", "00.05.{y}", "05.17.{y}"),
        statuses=("bezahlt", "erstattet", "storniert"),
        total="Summe",
    ),
    "british": Dialect(
        prefix="UK",
        columns={
            "id": "Order",
            "date": "Date",
            "customer": "Customer",
            "email": "Email",
            "amount": "Amount",
            "status": "Status",
            "changed": "Last changed",
        },
        phone="Phone",
        delimiter=",",
        encoding="utf-8-sig",
        newline="\r\n",
        date_format="%d/%m/%Y",
        bad_dates=("31/04/{y}", "04/23/{y}", "05/31/{y}", "29/02/2025"),
        statuses=("paid", "refunded", "cancelled"),
        total="TOTAL",
    ),
    "american": Dialect(
        prefix="US",
        columns={
            "id": "order_no",
            "email": "email",
            "amount": "amount",
            "date": "order_date",
            "status": "status",
            "customer": "customer",
            "changed": "modified_at",
        },
        phone="phone",
        delimiter="\t",
        encoding="utf-8",
        newline="\n",
        date_format="%m/%d/%Y",
        bad_dates=("02/30/{y}", "23/04/{y}", "31/05/{y}", "00/12/{y}"),
        statuses=("PAID", "REFUNDED", "CANCELED"),
        total="Total",
    ),
    "french": Dialect(
        prefix="FR",
        columns={
            "id": "N° commande",
            "changed": "Modifié le",
            "date": "Date",
            "customer": "Client",
            "email": "Courriel",
            "amount": "Montant",
            "status": "État",
        },
        phone="Téléphone",
        delimiter=";",
        encoding="utf-8",
        newline="\n",
        date_format="%Y-%m-%d",
        bad_dates=("{y}-02-30", "{y}-23-04", "{y}-06-31", "{y}-00-10"),
        statuses=("payée", "remboursée", "annulée"),
        total="Total",
    ),
}


@dataclass(frozen=True)
class Version:
    """One state of an order, as it is exported at one moment."""

    order_id: str
    day: date
    customer: str
    email: str
    cents: int
    status: int  # index into Dialect.statuses
    changed: datetime
    defect: str = ""
    test: bool = False


def month_starts(first: str, count: int) -> list[date]:
    year, month = map(int, first.split("-"))
    return [date(year + (month + i - 1) // 12, (month + i - 1) % 12 + 1, 1) for i in range(count)]


def make_versions(
    rng: random.Random, prefix: str, number: int, start: date, domain: str
) -> list[Version]:
    """Make an order of one month with one to three versions, oldest first."""
    day = start + timedelta(days=rng.randint(0, 27))
    person = rng.choice(PEOPLE)
    plain = unicodedata.normalize("NFKD", person).encode("ascii", "ignore").decode()
    local = plain.replace(" ", ".").replace("'", "")
    test = rng.random() < 0.05
    host = domain if test else rng.choice(MAIL_HOSTS)
    version = Version(
        order_id=f"{prefix}-{number:06d}",
        day=day,
        customer=rng.choice(FIRMS) if rng.random() < 0.12 else person,
        email=f"{local}{rng.randint(1, 99)}@{host}".lower(),
        cents=rng.choice(
            (rng.randint(500, 9_999), rng.randint(10_000, 480_000), 100 * rng.randint(5, 3_000))
        ),
        status=2 if rng.random() < 0.06 else 0,
        changed=datetime(day.year, day.month, day.day, rng.randint(6, 22), rng.randint(0, 59)),
        test=test,
    )
    versions = [version]
    for _ in range(rng.choices((0, 1, 2), (76, 18, 6))[0]):
        version = replace(version, changed=version.changed + timedelta(hours=rng.randint(3, 700)))
        kind = rng.choice(("amount", "refund", "cancel", "email"))
        if kind == "amount":
            version = replace(
                version, cents=abs(version.cents) + rng.randint(-400, 9_000), status=0
            )
        elif kind == "refund":
            version = replace(version, cents=-abs(version.cents), status=1)
        elif kind == "cancel":
            version = replace(version, status=2)
        else:
            version = replace(version, email=f"new.{version.email}")
        versions.append(version)
    if rng.random() < 0.07:
        broken = rng.randrange(len(versions))
        defect = rng.choice(("bad_date", "bad_amount", "bad_email"))
        versions[broken] = replace(versions[broken], defect="bad_date" if test else defect)
    return versions


def amount_text(rng: random.Random, kind: str, cents: int) -> str:
    """Write an amount the way the shop does, with the spellings its software mixes."""
    units, rest = divmod(abs(cents), 100)
    if kind == "american":
        text = f"{units:,}" if rng.random() < 0.7 else str(units)
        text += "" if rest == 0 and rng.random() < 0.3 else f".{rest:02d}"
        text = f"${text}" if rng.random() < 0.5 else text
        return f"({text})" if cents < 0 else text
    sign = "-" if cents < 0 else ""
    if kind == "british":
        text = f"{units:,}.{rest:02d}" if rng.random() < 0.7 else f"{units}.{rest:02d}"
        return sign + (f"£{text}" if rng.random() < 0.5 else text)
    group = "." if kind == "german" else rng.choice(("\u00a0", "\u202f"))
    text = f"{units:,}".replace(",", group) if rng.random() < 0.7 else str(units)
    text += "" if rest == 0 and rng.random() < 0.3 else f",{rest:02d}"
    return sign + (f"{text} €" if kind == "french" and rng.random() < 0.5 else text)


def row(rng: random.Random, kind: str, version: Version) -> dict[str, str]:
    """Write one version in the shop's notation."""
    dialect, defect = DIALECTS[kind], version.defect
    day = version.day.strftime(dialect.date_format)
    if defect == "bad_date":
        day = rng.choice(dialect.bad_dates).format(y=version.day.year)
    bad_amount = rng.choice(("", "n/a", "#REF!", "tbd"))
    mangled = version.email.replace("@", rng.choice(("(at)", " at ", "")))
    email = rng.choices((version.email, version.email.upper(), f" {version.email} "), (80, 10, 10))[
        0
    ]
    number, status = version.order_id, dialect.statuses[version.status]
    return {
        "id": rng.choices((number, number.lower(), f" {number}"), (85, 8, 7))[0],
        "date": day + " " * (rng.random() < 0.05),
        "customer": version.customer,
        "email": mangled if defect == "bad_email" else email,
        "amount": bad_amount if defect == "bad_amount" else amount_text(rng, kind, version.cents),
        "status": rng.choices((status, status.capitalize(), f"{status} "), (85, 8, 7))[0],
        "changed": version.changed.strftime("%Y-%m-%d %H:%M"),
        "phone": f"+{rng.randint(30, 59)} {rng.randint(10**6, 10**7 - 1)}",
    }


def write_export(
    path: Path, kind: str, rows: list[dict[str, str]], *, phone: bool, total: bool, written: date
) -> None:
    dialect = DIALECTS[kind]
    columns = list(dialect.columns.items())
    if phone:
        columns.insert(list(dialect.columns).index("customer") + 1, ("phone", dialect.phone))
    text = io.StringIO()
    writer = csv.writer(text, delimiter=dialect.delimiter, lineterminator=dialect.newline)
    writer.writerow([name for _, name in columns])
    writer.writerows([item[role] for role, _ in columns] for item in rows)
    if total:
        words = {"id": dialect.total, "status": f"{len(rows)}"}
        writer.writerow([words.get(role, "") for role, _ in columns])
        text.write(dialect.newline)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.getvalue().encode(dialect.encoding))
    os.utime(path, (calendar.timegm(written.timetuple()),) * 2)


def make_shop(
    rng: random.Random, kind: str, shop: str, starts: list[date], domain: str
) -> list[Version]:
    """Write one shop's exports and return the latest version of each of its orders."""
    files: list[list[Version]] = [[] for _ in starts]
    latest = []
    number = rng.randint(10_000, 700_000)
    for start in starts:
        for _ in range(ORDERS_PER_MONTH + rng.randint(-15, 15)):
            number += rng.randint(1, 9)
            versions = make_versions(rng, DIALECTS[kind].prefix, number, start, domain)
            latest.append(versions[-1])
            for version in versions:
                # Replication is late now and then, so the order of the files says nothing.
                month = sum(first <= version.changed.date() for first in starts) - 1
                home = min(month + rng.choice((0, 0, 1, 1)), len(starts) - 1)
                files[home] += [version] * (2 if rng.random() < 0.03 else 1)
    for month, versions in enumerate(files):
        rng.shuffle(versions)
        write_export(
            Path(f"/srv/exports/{shop}/orders-{starts[month]:%Y-%m}.csv"),
            kind,
            [row(rng, kind, version) for version in versions],
            phone=month >= MONTHS // 2,
            total=rng.random() < 0.7,
            written=starts[month] + timedelta(days=32),
        )
    return latest


def table(header: str, rows: list[tuple]) -> str:
    return "".join(f"{line}\n" for line in [header, *(",".join(map(str, r)) for r in sorted(rows))])


def main() -> None:
    params = json.loads(os.environ["AGENTGYM_PARAMS"])
    rng = random.Random(f"data-cleanup {params['seed']}")
    starts = month_starts(params["first_month"], MONTHS)
    orders, rejected, totals = [], [], defaultdict(lambda: [0, 0])
    for kind in DIALECTS:
        shop = params[kind]
        for last in make_shop(rng, kind, shop, starts, params["test_domain"]):
            if last.status == 2 or last.test:
                continue
            if last.defect:
                rejected.append((last.order_id, shop, last.defect))
                continue
            orders.append((last.order_id, last.day.isoformat(), shop, last.email, last.cents))
            entry = totals[shop, f"{last.day:%Y-%m}"]
            entry[0] += 1
            entry[1] += last.cents
    gold = Path(os.environ["AGENTGYM_GOLD"])
    (gold / "orders.csv").write_text(table("order_id,date,shop,email,amount_cents", orders))
    (gold / "rejected.csv").write_text(table("order_id,shop,reason", rejected))
    (gold / "totals.csv").write_text(
        table("shop,month,orders,amount_cents", [(*key, *value) for key, value in totals.items()])
    )
    readme = (Path(os.environ["AGENTGYM_SETUP"]) / "README.md").read_text()
    for kind in DIALECTS:
        readme = readme.replace(f"<{kind}>", params[kind])
    Path("/srv/exports/README.md").write_text(readme)
    Path("/srv/clean").mkdir()


main()
