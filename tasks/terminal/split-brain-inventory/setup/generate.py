"""Make a stock database, nine days of bookings in two shops, and half a merge of the two.

The truth is kept while the bookings are planned, by the rules of MERGE.md.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path("/srv/stock")
SHOPS = (os.environ["PARAM_FIRST"], os.environ["PARAM_SECOND"])
THINGS = [
    "kettle",
    "lamp",
    "rug",
    "stool",
    "vase",
    "clock",
    "mirror",
    "basket",
    "tray",
    "blanket",
    "candle",
    "frame",
    "hook",
    "jar",
]
KINDS = ["oak", "brass", "linen", "slate", "cork", "wool", "tin", "walnut", "felt", "glass"]
ITEM = (
    "CREATE TABLE item (sku TEXT PRIMARY KEY, title TEXT NOT NULL, price_cents INTEGER NOT NULL,"
    " on_hand INTEGER NOT NULL, active INTEGER NOT NULL)"
)
DECISION = "CREATE TABLE decision (sku TEXT, field TEXT, shop TEXT)"
START = 1_769_990_400
DAYS = 9


@dataclass
class Book:
    """The bookings of one shop, and which of them count."""

    shop: int
    fast_s: int = 0
    until: int = 0  # from then on the clock is right
    lines: list[dict[str, object]] = field(default_factory=list)
    moved: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    values: dict[tuple[str, str], tuple[int, object]] = field(default_factory=dict)
    retired: dict[str, int] = field(default_factory=dict)

    def book(self, at: int, op: str, sku: str, **more: object) -> None:
        shown = at + (self.fast_s if at < self.until else 0)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(shown))
        self.lines.append({"true": at, "at": stamp, "op": op, "sku": sku, **more})
        qty = int(str(more.get("qty", 0)))
        if op in ("receive", "ship", "add"):
            self.moved.setdefault(sku, []).append((at, -qty if op == "ship" else qty))
        for key, name in (("title", "title"), ("price", "price_cents")):
            if key in more and self.values.get((sku, name), (0, None))[0] <= at:
                self.values[sku, name] = (at, more[key])
        if op == "retire":
            self.retired[sku] = at


def title(rng: random.Random) -> str:
    return f"{rng.choice(KINDS)} {rng.choice(THINGS)} {rng.randint(1, 40)}"


def disagree(rng: random.Random, books: tuple[Book, Book], skus: list[str]) -> None:
    """Let both shops set a value; with the fast clock uncorrected most would go the other way."""
    for number, sku in enumerate(skus):
        op = "title" if number % 3 == 0 else "price"
        early = rng.randrange(START + 86_400, books[1].until - 90_000)
        for book in books:
            book.values.pop((sku, "price_cents" if op == "price" else op), None)
            book.lines = [x for x in book.lines if x["sku"] != sku or x["op"] != op]
        late = early + rng.randint(600, books[1].fast_s - 600)
        order = books if number % 4 else books[::-1]
        same = 10 * rng.randint(60, 900)
        for book, at in zip(order[::-1], (early, late), strict=True):
            value = (
                title(rng) if op == "title" else same if number == 7 else 10 * rng.randint(60, 900)
            )
            book.book(at, op, sku, **{op: value})


def plan(rng: random.Random, base: dict[str, list]) -> tuple[Book, Book, list[str]]:
    """Book nine days in both shops; return the books and the skus that were added."""
    skus = list(base)
    end = START + DAYS * 86_400
    books = (
        Book(0),
        Book(1, rng.choice((5_400, 7_200, 9_000)), START + rng.randint(5, 6) * 86_400),
    )
    retired = rng.sample(skus, 6)
    quiet = retired[:2]  # nobody books them any more
    lively = [sku for sku in skus if sku not in retired]

    def moment(low: float = 0.0, high: float = 1.0) -> int:
        return rng.randrange(START + int(DAYS * 86_400 * low), START + int(DAYS * 86_400 * high))

    for book in books:
        for _ in range(rng.randint(90, 120)):
            op = rng.choice(("ship", "ship", "ship", "receive"))
            book.book(moment(), op, rng.choice(lively), qty=rng.randint(1, 9))
        for sku in rng.sample(lively, 6):
            book.book(moment(), "price", sku, price=10 * rng.randint(60, 900))
    both = rng.sample(lively, 9)
    disagree(rng, books, both)
    for sku, number in zip(retired, range(6), strict=True):
        one, other = rng.sample(books, 2)
        at = moment(0.3, 0.6)
        one.book(at, "retire", sku)
        if sku in quiet:
            continue
        # The other shop booked it before that, or within the fast hours, or after.
        shift = (-rng.randint(700, 3_000), rng.randint(700, 3_000))[number % 2]
        other.book(at + shift, "ship", sku, qty=rng.randint(1, 3))
    short = rng.sample([sku for sku in lively if sku not in both], 2)
    for sku in short:
        for book in books:
            book.book(moment(), "ship", sku, qty=base[sku][2] // 2 + rng.randint(45, 60))
    added = [
        f"N-{rng.randint(1000, 4999)}",
        f"N-{rng.randint(5000, 7999)}",
        f"N-{rng.randint(8000, 9999)}",
    ]
    name, price = title(rng), 10 * rng.randint(60, 900)
    for number, sku in enumerate(added):
        for book in books if number == 2 else (books[number],):
            at = moment(0.1, 0.4)
            more = {"title": name if number == 2 else title(rng), "qty": rng.randint(5, 30)}
            book.book(at, "add", sku, price=price + 10 * book.shop, **more)
            book.book(moment(0.5, 1.0), "ship", sku, qty=2)
    assert all(START <= int(str(line["true"])) < end for book in books for line in book.lines)
    return (*books, added)


def merge(base: dict[str, list], books: tuple[Book, Book], added: list[str]) -> tuple[dict, list]:
    """Return rows by sku and the conflicts as (sku, field, first, second, winning shop)."""
    rows, conflicts = {}, []
    for sku in [*base, *added]:
        row = dict(
            zip(
                ("title", "price_cents", "on_hand", "active"),
                base.get(sku, ["", 0, 0, 1]),
                strict=False,
            )
        )
        sums = [sum(qty for _, qty in book.moved.get(sku, [])) for book in books]
        row["on_hand"] += sum(sums)
        if row["on_hand"] < 0:
            conflicts.append([sku, "on_hand", *sums, None])
        for name in ("title", "price_cents"):
            set_by = [book.values.get((sku, name)) for book in books]
            if all(set_by) and set_by[0][1] != set_by[1][1]:
                assert abs(set_by[0][0] - set_by[1][0]) > 60
                winner = int(set_by[1][0] > set_by[0][0])
                conflicts.append([sku, name, set_by[0][1], set_by[1][1], winner])
                row[name] = set_by[winner][1]
            elif any(set_by):
                row[name] = next(value for value in set_by if value)[1]
        for book, other in (books, books[::-1]):
            if sku not in book.retired:
                continue
            after = any(at > book.retired[sku] for at, _ in other.moved.get(sku, []))
            row["active"] = int(after)
            if after:
                shown = [1, 1]
                shown[book.shop] = 0
                conflicts.append([sku, "active", *shown, other.shop])
        rows[sku] = row
    return rows, conflicts


def write_journal(rng: random.Random, book: Book) -> None:
    """Write the bookings in the order they were made, some of them twice."""
    lines = sorted(book.lines, key=lambda line: int(str(line["true"])))
    text, told = "", book.fast_s == 0
    for number, line in enumerate(lines, 1):
        if not told and int(str(line["true"])) >= book.until:
            told = True
            text += json.dumps({"op": "clock", "fast_s": book.fast_s}) + "\n"
        booking = {"id": f"{SHOPS[book.shop][0]}{number:05d}", **line}
        del booking["true"]
        text += json.dumps(booking) + "\n"
        if rng.random() < 0.05 and line["op"] in ("ship", "receive"):
            text += json.dumps(booking) + "\n"
    assert told
    (ROOT / SHOPS[book.shop] / "journal.jsonl").write_text(text)


def write_database(path: Path, rows: dict[str, dict], decisions: list | None = None) -> None:
    database = sqlite3.connect(path)
    database.execute(ITEM)
    values = [
        (sku, *(r[k] for k in ("title", "price_cents", "on_hand", "active")))
        for sku, r in rows.items()
    ]
    database.executemany("INSERT INTO item VALUES (?, ?, ?, ?, ?)", values)
    if decisions is not None:
        database.execute(DECISION)
        database.executemany("INSERT INTO decision VALUES (?, ?, ?)", decisions)
        database.execute("CREATE TABLE progress (shop TEXT, id TEXT)")
    database.commit()
    database.close()


def replica(base: dict[str, dict], book: Book, until: int) -> dict[str, dict]:
    """Return a shop's own copy: the base and its bookings up to a moment."""
    rows = {sku: dict(row) for sku, row in base.items()}
    for line in sorted(book.lines, key=lambda line: int(str(line["true"]))):
        if int(str(line["true"])) >= until:
            break
        sku, op = str(line["sku"]), line["op"]
        qty = int(str(line.get("qty", 0)))
        if op == "add":
            rows[sku] = {
                "title": line["title"],
                "price_cents": line["price"],
                "on_hand": 0,
                "active": 1,
            }
        if op == "retire":
            rows[sku]["active"] = 0
        elif op in ("price", "title"):
            rows[sku]["price_cents" if op == "price" else "title"] = line[str(op)]
        else:
            rows[sku]["on_hand"] += -qty if op == "ship" else qty
    return rows


def main() -> None:
    rng = random.Random(f"split-brain-inventory {os.environ['PARAM_SEED']}")
    skus = [
        f"{rng.choice('ABCDEFG')}-{number}" for number in sorted(rng.sample(range(1000, 9999), 44))
    ]
    base = {s: [title(rng), 10 * rng.randint(60, 900), rng.randint(20, 90), 1] for s in skus}
    first, second, added = plan(rng, base)
    books = (first, second)
    rows, conflicts = merge(base, books, added)
    decidable = [c for c in conflicts if c[1] in ("title", "price_cents", "active")]
    of_values = [c for c in decidable if c[1] != "active"]
    chosen = [*rng.sample(of_values, 3), next(c for c in decidable if c[1] == "active")]
    decisions = []
    for number, conflict in enumerate(chosen):
        winner = conflict[4] if number == 1 else 1 - conflict[4]
        conflict[4] = winner
        decisions.append((conflict[0], conflict[1], SHOPS[winner]))
    listed = []
    for sku, name, one, two, winner in conflicts:
        if winner is not None:
            rows[sku][name] = (one, two)[winner]
        listed.append((sku, name, one, two, rows[sku][name]))

    ROOT.mkdir()
    named = {
        s: dict(zip(("title", "price_cents", "on_hand", "active"), r, strict=False))
        for s, r in base.items()
    }
    write_database(ROOT / "base.db", named)
    for book in books:
        (ROOT / SHOPS[book.shop]).mkdir()
        write_journal(rng, book)
        until = START + (DAYS - book.shop) * 86_400
        write_database(ROOT / SHOPS[book.shop] / "stock.db", replica(named, book, until))
    half = replica(named, first, START + rng.randint(4, 6) * 86_400)
    write_database(ROOT / "merged.db", half, decisions)
    (ROOT / "merge.log").write_text(
        "copied base.db to merged.db\n"
        f"asked the storekeeper, table decision: {len(decisions)} rows\n"
        f"applying the journal of {SHOPS[0]}, line by line\nkilled\n"
        "TODO second shop, doubles, conflicts\n"
    )
    rules = (Path(os.environ["AGENTGYM_SETUP"]) / "MERGE.md").read_text()
    (ROOT / "MERGE.md").write_text(rules.replace("<FIRST>", SHOPS[0]).replace("<SECOND>", SHOPS[1]))
    report = io.StringIO()
    csv.writer(report, lineterminator="\n").writerows(
        [("sku", "field", *SHOPS, "kept"), *sorted(listed, key=lambda c: (c[0], c[1]))]
    )
    gold = Path(os.environ["AGENTGYM_GOLD"])
    (gold / "conflicts.csv").write_text(report.getvalue())
    kept = {"item": rows, "decision": sorted(decisions), "half": half}
    (gold / "stock.json").write_text(json.dumps(kept))


main()
