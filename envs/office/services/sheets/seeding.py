"""Seeded workbooks of the company, with the mistakes that such workbooks have.

Totals that stop some rows short, totals typed over their formula, numbers that are texts, rows
entered twice, a copy called final that differs, and cells in error or on a circle.
"""

from __future__ import annotations

import random
from datetime import date, timedelta

from agentgym.services import Service, moment, time_of

from .book import Book, Typed
from .company import PRICES, Company, company
from .ledgers import Table, customer_invoices, equipment, payments, renewals

_CATEGORIES = ("Travel", "Meals", "Software", "Office", "Training")
_WHAT = {
    "Travel": ("Train to Hamburg", "Taxi", "Hotel, two nights", "Flight to Lisbon"),
    "Meals": ("Lunch with {customer}", "Team dinner", "Breakfast"),
    "Software": ("Editor licence", "Fonts", "Cloud storage"),
    "Office": ("Paper", "Toner", "Chair", "Coffee"),
    "Training": ("Course", "Books", "Conference ticket"),
}


def fill(service: Service, rng: random.Random) -> None:
    """Fill the tables with workbooks."""
    known, today = company(service), time_of(service.now).date()
    made: list[tuple[str, str, dict[str, Table]]] = []
    for year in (2024, 2025, 2026):
        made.append(("Finance", f"Budget {year}", _budget(rng, known.departments, year == 2025)))
    for number, month in enumerate(("2025-09", "2025-10", "2025-11", "2025-12", "2026-01")):
        book = _expenses(rng, date.fromisoformat(f"{month}-01"), known, mistake=number)
        made.append(("Finance", f"Expenses {month}", book))
    for name in ("Pipeline Q1 2026", "Pipeline Q1 2026_final_v2", "Pipeline Q4 2025"):
        made.append(("Sales", name, _pipeline(rng, known.customers, wrong="final" in name)))
    for year in (2024, 2025):
        made.append(("Sales", f"Orders {year}", _orders(rng, known.customers)))
    made.append(("Sales", "Renewals 2026", renewals(rng, known, today)))
    made.append(("People", "Headcount", _headcount(rng, known)))
    for year, invoices in customer_invoices(rng, known, today).items():
        made.append(("Finance", f"Customer invoices {year}", invoices))
    for year, count in ((2025, 70), (2026, 18)):
        book = payments(rng, known, date(year, 1, 7), count)
        made.append(("Finance", f"Supplier payments {year}", book))
    made.append(("IT", "Laptops", equipment(rng, known)))
    made += [("Management", name, _party(rng)) for name in ("Summer party", "Copy of Summer party")]
    made += [("Product", f"Survey {p}", _survey(rng, known.customers)) for p in PRICES]
    made.append(("Product", "Cost model (old)", _model()))
    for department, name, sheets in made:
        _add(service, rng, name, known.of(department), sheets)


def _budget(rng: random.Random, departments: list[str], wrong: bool) -> dict[str, Table]:
    """Return plan, what was spent, and both side by side; a wrong one leaves out a team."""
    quarters: list[Typed] = ["Q1", "Q2", "Q3", "Q4"]
    sheets: dict[str, Table] = {}
    last = len(departments) + 1
    for sheet in ("Plan", "Actual"):
        rows: Table = [["Team", *quarters, "Year"]]
        for number, team in enumerate(departments, 2):
            spent: list[Typed] = [rng.randint(20, 240) * 500 for _ in quarters]
            rows.append([team, *spent, f"=SUM(B{number}:E{number})"])
        end = last - 1 if wrong and sheet == "Actual" else last
        rows.append(["Total", *(f"=SUM({c}2:{c}{end})" for c in "BCDEF")])
        sheets[sheet] = rows
    compare: Table = [["Team", "Plan", "Actual", "Difference", "Share", "Verdict"]]
    for number, team in enumerate((*departments, "Total"), 2):
        compare.append(
            [
                team,
                f"=Plan!F{number}",
                f"=Actual!F{number}",
                f"=C{number}-B{number}",
                f"=ROUND(C{number}/B{number},3)",
                f'=IF(D{number}>0,"over","within")',
            ]
        )
    return {**sheets, "Compare": compare}


def _expenses(rng: random.Random, first: date, known: Company, mistake: int) -> dict[str, Table]:
    names = [p["name"] for p in known.people]
    rows: Table = [["Date", "Name", "Category", "What", "Amount"]]
    for day in sorted(rng.randint(0, 27) for _ in range(rng.randint(34, 60))):
        category = rng.choice(_CATEGORIES)
        amount = round(rng.lognormvariate(4, 0.9), 2)
        when = (first + timedelta(days=day)).isoformat()
        what = rng.choice(_WHAT[category]).format(customer=rng.choice(known.customers))
        rows.append([when, rng.choice(names), category, what, amount])
    if mistake == 1:
        for row in rng.sample(rows[1:], 3):
            row[4] = f"{row[4]} EUR" if rng.random() < 0.5 else str(row[4])
    if mistake == 2:
        rows.append(list(rows[rng.randint(1, 9)]))
    last = len(rows)
    end = last - 6 if mistake == 3 else last
    summary: Table = [["Category", "Sum", "Receipts"]]
    for number, category in enumerate(_CATEGORIES, 2):
        found = f"Receipts!C2:C{last}"
        total = f"=SUMIF({found},A{number},Receipts!E2:E{last})"
        summary.append([category, total, f"=COUNTIF({found},A{number})"])
    summary.append(["Total", f"=SUM(Receipts!E2:E{end})", f"=COUNT(Receipts!E2:E{last})"])
    summary.append(["Largest", f"=MAX(Receipts!E2:E{last})", None])
    if mistake == 4:
        paid = [row[4] for row in rows[1:] if isinstance(row[4], float)]
        summary[-2][1] = round(sum(paid) - 118.4, 2)
    return {"Receipts": rows, "Summary": summary}


def _pipeline(rng: random.Random, customers: list[str], wrong: bool) -> dict[str, Table]:
    rows: Table = [["Customer", "Product", "Seats", "Price", "Value", "Chance", "Weighted"]]
    for number, customer in enumerate(rng.sample(customers, 13), 2):
        product, price = rng.choice(list(PRICES.items()))
        chance = rng.choice([0.1, 0.25, 0.5, 0.75, 0.9])
        value, weighted = f"=C{number}*D{number}*12", f"=ROUND(E{number}*F{number},2)"
        rows.append([customer, product, rng.randint(5, 180), price, value, chance, weighted])
    end = 12 if wrong else 14
    rows.append(["Total", None, "=SUM(C2:C14)", None, f"=SUM(E2:E{end})", None, f"=SUM(G2:G{end})"])
    return {"Pipeline": rows}


def _orders(rng: random.Random, customers: list[str]) -> dict[str, Table]:
    prices: Table = [["Product", "Price"], *([name, price] for name, price in PRICES.items())]
    rows: Table = [["Number", "Customer", "Product", "Seats", "Price", "Sum"]]
    orders = rng.sample(range(1000, 10_000), 60)
    for number in range(2, 62):
        product = rng.choice(list(PRICES)) if rng.random() > 0.03 else "Parcel hub"
        price = f"=VLOOKUP(C{number},Prices!A2:B5,2,FALSE)"
        order = f"SO-{orders[number - 2]}"
        seats = rng.randint(1, 90)
        rows.append([order, rng.choice(customers), product, seats, price, f"=D{number}*E{number}"])
    return {"Orders": rows, "Prices": prices}


def _headcount(rng: random.Random, known: Company) -> dict[str, Table]:
    rows: Table = [["Name", "Address", "Department", "Role", "Since", "Hours", "Left"]]
    for person in known.people:
        since = (date(2019, 1, 1) + timedelta(days=rng.randint(0, 2300))).isoformat()
        left = "yes" if person["status"] == "left" else None
        rows.append([person["name"], person["email"], person["department"], person["role"],
                     since, 40, left])  # fmt: skip
    for row in rng.sample(rows[1:], 6):
        row[5] = rng.choice([20, 24, 32])
    # Somebody has forgotten one who left, and the line of one who came last.
    rng.choice([row for row in rows[1:] if row[6]])[6] = None
    del rows[rng.randint(4, len(rows) - 12)]
    last = len(rows)
    teams: Table = [["Department", "People", "Hours", "Average"]]
    for number, department in enumerate(known.departments, 2):
        found = f"People!C2:C{last}"
        hours = f"=SUMIF({found},A{number},People!F2:F{last})"
        average = f"=ROUND(C{number}/B{number},1)"
        teams.append([department, f"=COUNTIF({found},A{number})", hours, average])
    # This department is empty, but its line is still there.
    line = len(teams) + 1
    teams.append(["Print shop", f"=COUNTIF(People!C2:C99,A{line})", 0, f"=C{line}/B{line}"])
    return {"People": rows, "Departments": teams}


def _party(rng: random.Random) -> dict[str, Table]:
    guests = rng.randint(28, 60)
    return {
        "Costs": [
            ["What", "Each", "Sum"],
            ["Guests", None, guests],
            ["Food", 32, "=B3*C2"],
            ["Drinks", 14.5, "=B4*C2"],
            ["Room", None, rng.randint(4, 12) * 100],
            ["Music", None, rng.randint(3, 9) * 50],
            ["Total", None, "=SUM(C3:C6)"],
            ["For each guest", None, "=ROUND(C7/C2,2)"],
        ]
    }


def _survey(rng: random.Random, customers: list[str]) -> dict[str, Table]:
    rows: Table = [["Answer", "Customer", "Content (1-5)", "Would recommend"]]
    for number in range(1, 46):
        content: Typed = rng.choices([1, 2, 3, 4, 5, "n/a", None], [1, 2, 6, 10, 6, 1, 1])[0]
        rows.append([number, rng.choice(customers), content, rng.random() < 0.7])
    result: Table = [
        ["Answers", "=COUNT(Answers!A2:A46)"],
        ["Average", "=ROUND(AVERAGE(Answers!C2:C46),2)"],
        ["Recommend", "=COUNTIF(Answers!D2:D46,TRUE)"],
        ["Share", "=ROUND(B3/B1,3)"],
    ]
    return {"Answers": rows, "Result": result}


def _model() -> dict[str, Table]:
    return {
        "Model": [
            ["Hosting", 4200],
            ["Staff", "='Staff 2023'!B9"],
            ["Overhead", "=B5*0.1"],
            ["Buffer", "=SUMM(B1:B3)"],
            ["Total", "=B1+B3"],
        ]
    }


def _add(
    service: Service, rng: random.Random, name: str, owners: list[str], sheets: dict[str, Table]
) -> None:
    owner = rng.choice(owners)
    updated = time_of(service.now) - timedelta(minutes=rng.randint(90, 300_000))
    workbook = service.db.insert(
        "sheets_workbook",
        name=name,
        owner=owner,
        version=rng.randint(1, 40),
        created_at=moment(updated - timedelta(minutes=rng.randint(60, 200_000))),
        updated_at=moment(updated),
        updated_by=rng.choice([owner, *owners]),
    )
    for position, sheet in enumerate(sheets, 1):
        service.db.insert("sheets_sheet", workbook_id=workbook, name=sheet, position=position)
    book = Book(service, workbook)
    for sheet, rows in sheets.items():
        number = book.sheet(sheet)
        for row, values in enumerate(rows, 1):
            for column, value in enumerate(values, 1):
                book.put((number, row, column), value)
    book.recalculate()
    book.save()
