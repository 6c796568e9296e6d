"""Workbooks that other services refer to: invoices, payments, renewals, equipment.

They hold the invoices of tickets, and their people are those of the address book. The data has
flaws: rows entered twice, amounts as texts, people who have left, unpaid invoices.
"""

from __future__ import annotations

import random
from datetime import date, timedelta

from agentgym.services import time_of

from .book import Typed
from .company import PRICES, Company

Table = list[list[Typed]]

INVOICES = 150


def customer_invoices(
    rng: random.Random, company: Company, today: date
) -> dict[int, dict[str, Table]]:
    """Return what was billed to customers, a workbook by year."""
    billed: list[tuple[date, str, str, str]] = []
    charged = {d.number: time_of(d.written_at).date() for d in company.disputed if d.paid}
    for disputed in company.disputed:
        issued = time_of(disputed.written_at).date() - timedelta(days=rng.randint(3, 20))
        billed.append((issued, disputed.number, disputed.customer, disputed.product))
    taken = {number for _, number, *_ in billed}
    while len(billed) < INVOICES:
        customer, number = rng.choice(company.customers), f"INV-{rng.randint(10_000, 99_999)}"
        issued = today - timedelta(days=round(rng.triangular(2, 420, 30)))
        if number not in taken:
            taken.add(number)
            billed.append((issued, number, customer, rng.choice(company.products[customer])))
    years: dict[int, Table] = {}
    for issued, number, customer, product in sorted(billed):
        rows = years.setdefault(
            issued.year,
            [["Invoice", "Customer", "Product", "Seats", "Issued", "Due", "Amount", "Paid"]],
        )
        seats = rng.randint(4, 120)
        # A reminder takes a fortnight; of what is older, few are open.
        late = (today - issued).days - 30
        chance = 0.05 if late > 60 else 0.3 if late > 0 else 0.6
        paid = None if rng.random() < chance else issued + timedelta(days=rng.randint(5, 40))
        if number in charged:
            paid = charged[number] - timedelta(days=1)
        settled = paid is not None and paid < today
        rows.append([number, customer, product, seats, issued.isoformat(), None,
                     round(3 * seats * PRICES[product], 2),
                     paid.isoformat() if paid and settled else None])  # fmt: skip
    return {year: _billed(rng, rows, today) for year, rows in years.items() if len(rows) > 12}


def _billed(rng: random.Random, rows: Table, today: date) -> dict[str, Table]:
    rows.append(list(rows[rng.randint(3, len(rows) - 2)]))
    odd = rng.choice(rows[1:-2])
    odd[6] = f"EUR {odd[6]}"
    for line, row in enumerate(rows[1:], 2):
        row[5] = f"=E{line}+30"
    last = len(rows)
    amounts = f"Invoices!G2:G{last}"
    summary: Table = [
        ["As of", today.isoformat()],
        ["Billed", f"=SUM({amounts})"],
        ["Invoices", f"=COUNTA(Invoices!A2:A{last})"],
        ["Not paid", f"=COUNTA(Invoices!A2:A{last})-COUNTA(Invoices!H2:H{last})"],
        ["Largest", f"=MAX({amounts})"],
    ]
    return {"Invoices": rows, "Summary": summary}


def payments(rng: random.Random, company: Company, first: date, count: int) -> dict[str, Table]:
    """Return what suppliers have billed; the last ones are open, two are entered twice."""
    rows: Table = [["Invoice", "Supplier", "Received", "Due", "Amount", "Paid"]]
    for number in range(2, count + 2):
        received = first + timedelta(days=(350 if count > 40 else 58) * (number - 2) // count)
        done = number < count - 5 or rng.random() < 0.4
        amount = round(rng.lognormvariate(6, 0.6), 2)
        rows.append([f"R{rng.randint(10_000, 99_999)}", rng.choice(company.suppliers),
                     received.isoformat(), None, amount, "yes" if done else None])  # fmt: skip
    rows += [list(rows[k]) for k in sorted(rng.sample(range(1, count - 8), 2))]
    for line, row in enumerate(rows[1:], 2):
        row[3] = f"=C{line}+30"
    last = len(rows)
    open_: Table = [
        ["Paid", f'=SUMIF(Invoices!F2:F{last},"yes",Invoices!E2:E{last})'],
        ["All", f"=SUM(Invoices!E2:E{last})"],
        ["Open", "=B2-B1"],
        ["Last due", f"=MAX(Invoices!D2:D{last})"],
    ]
    return {"Invoices": rows, "Open": open_}


def renewals(rng: random.Random, company: Company, today: date) -> dict[str, Table]:
    """Return the ends of contracts; some contacts and some account managers have left."""
    sellers = [p for p in company.people if p["department"] == "Sales"]
    rows: Table = [
        ["Customer", "Contact", "Address", "Product", "Seats", "Ends", "Account manager"]
    ]
    for customer in company.customers:
        # The list is outdated: a contact who has left is still listed.
        known = rng.sample(company.contacts[customer], len(company.contacts[customer]))
        contact = max(known, key=lambda person: person["status"] == "left")
        product, seller = rng.choice(company.products[customer]), rng.choice(sellers)
        ends = today + timedelta(days=rng.randint(5, 300))
        rows.append([customer, contact["name"], contact["email"], product, rng.randint(5, 150),
                     ends.isoformat(), seller["name"]])  # fmt: skip
    rows[1:] = sorted(rows[1:], key=lambda row: str(row[5]))
    last = len(rows)
    managers: Table = [["Account manager", "Customers", "Seats"]]
    for line, seller in enumerate(sellers, 2):
        found = f"Contracts!G2:G{last}"
        seats = f"=SUMIF({found},A{line},Contracts!E2:E{last})"
        managers.append([seller["name"], f"=COUNTIF({found},A{line})", seats])
    return {"Contracts": rows, "Managers": managers}


def equipment(rng: random.Random, company: Company) -> dict[str, Table]:
    """Return the laptops by person: some people have left, and two laptops have two people."""
    models = ("Slate 13", "Slate 15", "Anvil 14", "Anvil 16 (old)")
    rows: Table = [["Asset", "Model", "Person", "Address", "Since", "Returned"]]
    for number, person in enumerate(company.people, 1):
        since = date(2021, 3, 1) + timedelta(days=rng.randint(0, 1700))
        back = "yes" if person["status"] == "left" and rng.random() < 0.3 else None
        rows.append([f"NB-{100 + number}", rng.choice(models), person["name"], person["email"],
                     since.isoformat(), back])  # fmt: skip
    for row, other in zip(rng.sample(rows[1:], 2), rng.sample(rows[1:], 2), strict=True):
        row[0] = other[0]
    last = len(rows)
    count: Table = [["Model", "Laptops"]]
    count += [[m, f"=COUNTIF(Laptops!B2:B{last},A{n})"] for n, m in enumerate(models, 2)]
    count.append(["Returned", f"=COUNTA(Laptops!F2:F{last})"])
    return {"Laptops": rows, "Count": count}
