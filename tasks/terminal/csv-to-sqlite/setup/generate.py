"""Write an ERP export with every kind of bad record, and the tables it must become.

Records are made together with their true values, or with what is wrong with them, so that the
truth needs no parser: only `orphan` and `duplicate` are played through, in file order.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

ROOT = Path("/srv/migration")
DELIMITERS = {"semicolon": ";", "pipe": "|", "tab": "\t"}
DATES = {
    "dd.mm.yyyy": "%d.%m.%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "dd/mm/yyyy": "%d/%m/%Y",
    "yyyymmdd": "%Y%m%d",
}
FIRST = ("Jörg", "Zoë", "Anaïs", "Peter", "Ingrid", "Åsa", "José", "Mary", "Tom", "Lucía")
LAST = ("Müller", "Lefèvre", "O'Neill", "Sørensen", "Peña", "Smith", "Groß", "Novak", "Berg")
FIRMS = ('Haus "Sonne"', "Ferron & Fils", "Nord; Süd | Handel", "Blå\tKyst ApS", "Twin\nPines Ltd")
THINGS = ("lamp", "crate", "kettle", "brush", "hinge", "ribbon", "basket", "jar", "clamp", "mat")
KINDS = ("oak", "steel", "café", "crème", "garden", "travel", "spare", 'double "A"', "small; flat")
COUNTRIES = ("de", "FR", "Dk", "ES", "se", "GB", "AT", "nl")
STATES = {"N": "open", "B": "paid", "V": "shipped", "S": "cancelled"}
HEADERS = {
    "customers.csv": ("custno", "name", "mail", "phone", "country", "since"),
    "products.csv": ("article", "title", "price", "active"),
    "purchases.csv": ("purchno", "custno", "date", "state"),
    "lines.csv": ("purchno", "pos", "article", "qty", "price"),
}


Row = tuple[object, ...]


@dataclass(frozen=True)
class Record:
    """Raw fields, and either the values they stand for or the reason why they are no good."""

    fields: tuple[str, ...]
    values: Row = ()
    reason: str = ""

    def spoil(self, at: int, text: str) -> Record:
        """Return the record with one bad field; what is missing outranks what is malformed."""
        fields = (*self.fields[:at], text, *self.fields[at + 1 :])
        reason = "malformed" if text.strip() and self.reason != "missing" else "missing"
        return Record(fields, (), reason)

    def with_mail(self, mail: str) -> Record:
        """Return the customer with another mail address."""
        fields = (*self.fields[:2], mail, *self.fields[3:])
        return Record(fields, (*self.values[:2], mail.lower(), *self.values[3:]))


class Export:
    """Draws records and spells them the way this ERP does."""

    def __init__(self, rng: random.Random, numbers: str, dates: str) -> None:
        self.rng = rng
        self.point, self.group = (",", ".") if numbers == "comma" else (".", ",")
        self.yes, self.no = ("J", "N") if numbers == "comma" else ("Y", "N")
        self.dates = DATES[dates]
        self.mails = 0

    def number(self, value: int) -> str:
        return self.rng.choice([str(value), f"{value:06d}", f" {value}"])

    def money(self, cents: int) -> str:
        whole, rest = divmod(cents, 100)
        digits = f"{whole:,}".replace(",", self.group) if self.rng.random() < 0.5 else str(whole)
        return f"{digits}{self.point}{rest:02d}"

    def day(self) -> tuple[str, str]:
        drawn = date(2019, 1, 1) + timedelta(days=self.rng.randrange(2_100))
        return drawn.strftime(self.dates), drawn.isoformat()

    def impossible_day(self) -> str:
        layout = self.dates.replace("%d", "31").replace("%m", "02").replace("%Y", "2021")
        return self.rng.choice([layout, "n/a", "2021-11-03", "0"])

    def cents(self) -> int:
        return self.rng.choice([1999, 110, 435, 829, self.rng.randint(5, 250_000)])

    def customer(self, number: int) -> Record:
        rng = self.rng
        name = (
            rng.choice(FIRMS) if rng.random() < 0.2 else f"{rng.choice(FIRST)} {rng.choice(LAST)}"
        )
        name = name if rng.random() < 0.9 else f" {name.replace(' ', '   ')} "
        self.mails += 1
        mail = f"{rng.choice(['Info', 'kontakt', 'm.Berg', 'shop+erp'])}{self.mails}@Mail.example"
        mail = mail if rng.random() < 0.5 else mail.lower()
        phone = rng.choice(["", "", "  ", f"+49 {rng.randint(10**6, 10**7)}", "0043-1-5550"])
        country = rng.choice(COUNTRIES)
        written, joined = self.day()
        fields = (self.number(number), name, mail, phone, country, written)
        tidy = " ".join(name.split())
        values = (number, tidy, mail.lower(), phone.strip() or None, country.upper(), joined)
        return Record(fields, values)

    def product(self, sku: str) -> Record:
        rng = self.rng
        title = f"{rng.choice(KINDS)} {rng.choice(THINGS)}"
        cents, active = self.cents(), rng.random() < 0.8
        written = sku if rng.random() < 0.7 else f"{sku.lower()} "
        fields = (written, title.title(), self.money(cents), self.yes if active else self.no)
        return Record(fields, (sku, title.title(), cents, int(active)))

    def purchase(self, number: int, customer: int) -> Record:
        written, placed = self.day()
        state = self.rng.choice(sorted(STATES))
        fields = (self.number(number), self.number(customer), written, state)
        return Record(fields, (number, customer, placed, STATES[state]))

    def line(self, purchase: int, position: int, sku: str) -> Record:
        quantity, cents = self.rng.randint(1, 40), self.cents()
        written = sku if self.rng.random() < 0.8 else f" {sku.lower()}"
        fields = (self.number(purchase), str(position), written, str(quantity), self.money(cents))
        return Record(fields, (purchase, position, sku, quantity, cents))

    def bad_money(self) -> str:
        wrong_way = f"12{self.group}50"
        return self.rng.choice([f"12{self.point}5", f"0{self.point}00", "free", wrong_way, "17"])


def scatter(rng: random.Random, records: list[Record], extra: list[Record]) -> None:
    """Put records at drawn places of the second half, so that they come after what they repeat."""
    for record in extra:
        records.insert(rng.randint(len(records) // 2, len(records)), record)


def draw_customers(export: Export, numbers: list[int]) -> list[Record]:
    """Return records of the first 150 numbers and of some after them, which are spoilt."""
    rng = export.rng
    records = [export.customer(number) for number in numbers[:150]]
    defects = [(0, "12a4"), (0, "0"), (1, "  "), (2, "nobody.example"), (2, "a@b@c"), (2, "")]
    defects += [(2, "two words@mail.example"), (4, "DEU"), (4, "D1"), (5, "")]
    defects += [(5, export.impossible_day()), (5, export.impossible_day())]
    for number, (at, text) in zip(numbers[150:], defects):  # noqa: B905 - strict= needs 3.10
        bad = export.customer(number).spoil(at, text)
        records.insert(rng.randrange(60), bad.spoil(1, "") if text == "DEU" else bad)
        if at == 5:  # the same customer again, in order this time
            scatter(rng, records, [export.customer(number)])
    scatter(rng, records, [export.customer(number) for number in rng.sample(numbers[:60], 4)])
    unspoilt = [record for record in records[:60] if not record.reason]
    for number, twin in zip(numbers[-4:], unspoilt):  # noqa: B905
        scatter(rng, records, [export.customer(number).with_mail(twin.fields[2].swapcase())])
    return records


def draw_products(export: Export, skus: list[str]) -> list[Record]:
    """Return records of all articles; those of the last six are spoilt."""
    rng = export.rng
    records = [export.product(sku) for sku in skus[:-6]]
    defects = [(0, "A_7"), (1, ""), (2, export.bad_money()), (2, ""), (3, "?")]
    defects += [(3, export.yes.lower())]
    for sku, (at, text) in zip(skus[-6:], defects):  # noqa: B905
        records.insert(rng.randrange(40), export.product(sku).spoil(at, text))
    scatter(rng, records, [export.product(sku) for sku in rng.sample(skus[:20], 4)])
    return records


def draw_purchases(export: Export, orders: list[int], numbers: list[int]) -> list[Record]:
    """Return records of the first 300 orders and of some after them, which are spoilt.

    Three orders are there before, of a customer who never was; these are no duplicates.
    """
    rng = export.rng
    records = [export.purchase(order, rng.choice(numbers[:158])) for order in orders[:300]]
    defects = [(0, "2O144"), (1, ""), (1, "none"), (2, export.impossible_day()), (3, "X"), (3, " ")]
    for order, (at, text) in zip(orders[300:], defects * 2):  # noqa: B905
        records.insert(rng.randrange(200), export.purchase(order, numbers[0]).spoil(at, text))
    for order in orders[250:253]:
        at = next(n for n, record in enumerate(records) if record.values[:1] == (order,))
        records.insert(rng.randrange(at + 1), export.purchase(order, rng.randint(9_100, 9_900)))
    scatter(rng, records, [export.purchase(order, numbers[1]) for order in orders[:5]])
    return records


def draw_lines(export: Export, orders: list[int], skus: list[str]) -> list[Record]:
    """Return lines of orders that exist and some that do not, some spoilt, some repeated."""
    rng = export.rng
    records = [
        export.line(order, position, rng.choice(skus[:-3]))
        for order in orders[:318]
        for position in range(1, rng.choice([1, 1, 2, 3, 4]) + 1)
    ]
    whole = records[: len(records) // 3]
    defects = [(0, ""), (1, "a"), (1, "0"), (2, ""), (3, "0"), (3, "-2"), (3, "1.5"), (4, "")]
    defects += [(4, export.bad_money()), (4, export.bad_money()), (4, f"-3{export.point}00")]
    for at, text in defects * 2:
        line = export.line(rng.choice(orders[:300]), rng.randint(50, 60), skus[0])
        records.insert(rng.randrange(len(records)), line.spoil(at, text))
    strangers = [export.line(rng.randint(1, 9_999), 1, skus[0]) for _ in range(4)]
    strangers += [export.line(orders[9], 70 + n, f"Z-{n}") for n in range(4)]
    repeated = [export.line(*line.values[:3]) for line in rng.sample(whole, 6)]
    for line in rng.sample(whole, 3):  # the same position before, of an article that never was
        at = next(n for n, record in enumerate(records) if record is line)
        records.insert(rng.randrange(at + 1), export.line(*line.values[:2], "Z-9"))
    scatter(rng, records, strangers + repeated)
    return records


def draw(export: Export) -> dict[str, list[Record]]:
    """Return the records of each file in file order."""
    rng = export.rng
    numbers = rng.sample(range(1_000, 9_000), 190)
    skus = sorted({f"{rng.choice('ABX')}-{rng.randint(100, 999)}" for _ in range(60)})
    skus += ["00417", "0815", "1E05", "12E3"]
    rng.shuffle(skus)
    orders = rng.sample(range(20_000, 99_000), 330)
    return {
        "customers.csv": draw_customers(export, numbers),
        "products.csv": draw_products(export, skus),
        "purchases.csv": draw_purchases(export, orders, numbers),
        "lines.csv": draw_lines(export, orders, skus),
    }


def take_over(files: dict[str, list[Record]]) -> dict[str, list[Row]]:
    """Play the rules through and return the rows of every table."""
    tables: dict[str, list[Row]] = {"reject": []}

    def accept(file: str, orphan: Callable[[Row], bool], *keys: tuple[set[Row], slice]) -> None:
        rows = tables[file[:-5]] = []
        for number, record in enumerate(files[file], 1):
            reason = record.reason
            if not reason and orphan(record.values):
                reason = "orphan"
            if not reason and any(record.values[part] in taken for taken, part in keys):
                reason = "duplicate"
            if reason:
                tables["reject"].append((file, number, reason))
                continue
            rows.append(record.values)
            for taken, part in keys:
                taken.add(record.values[part])

    customers: set[Row] = set()
    mails: set[Row] = set()
    skus: set[Row] = set()
    orders: set[Row] = set()
    positions: set[Row] = set()
    accept("customers.csv", lambda _: False, (customers, slice(1)), (mails, slice(2, 3)))
    accept("products.csv", lambda _: False, (skus, slice(1)))
    accept("purchases.csv", lambda row: row[1:2] not in customers, (orders, slice(1)))
    accept(
        "lines.csv",
        lambda row: row[:1] not in orders or row[2:3] not in skus,
        (positions, slice(2)),
    )
    return tables


def main() -> None:
    rng = random.Random(int(os.environ["PARAM_SEED"]))
    encoding = os.environ["PARAM_ENCODING"]
    delimiter = os.environ["PARAM_DELIMITER"]
    export = Export(rng, os.environ["PARAM_NUMBERS"], os.environ["PARAM_DATES"])
    files = draw(export)

    (ROOT / "export").mkdir(parents=True)
    for name, records in files.items():
        text = io.StringIO()
        writer = csv.writer(text, delimiter=DELIMITERS[delimiter], lineterminator="\r\n")
        writer.writerows([HEADERS[name], *(record.fields for record in records)])
        (ROOT / "export" / name).write_bytes(text.getvalue().encode(encoding))
    here = Path(__file__).parent
    shutil.copyfile(here / "schema.sql", ROOT / "schema.sql")
    rules = (
        (here / "RULES.md")
        .read_text()
        .format(
            encoding="Windows-1252" if encoding == "cp1252" else "UTF-8 with a byte order mark",
            delimiter={"semicolon": "semicolons", "pipe": "`|`", "tab": "tabs"}[delimiter],
            dates=f"`{os.environ['PARAM_DATES']}`",
            point=export.point,
            group=export.group,
            example=f"1{export.group}299{export.point}00",
            yes=export.yes,
            no=export.no,
        )
    )
    (ROOT / "RULES.md").write_text(rules)
    gold = Path(os.environ["AGENTGYM_GOLD"]) / "tables.json"
    gold.write_text(json.dumps(take_over(files), indent=1))


if __name__ == "__main__":
    main()
