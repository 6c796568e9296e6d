"""The people, customers and suppliers in workbooks, from the address book."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agentgym.services import Service

PRICES = {"Ledgerly": 24, "Parcelhub": 18.5, "Rosterboard": 9.9, "Vaultdrive": 12}
"""Products by what a seat costs a month, in EUR."""


@dataclass(frozen=True)
class Company:
    """The company as its workbooks know it.

    Attributes:
        people: Rows of all colleagues, those who have left too.
        departments: Their departments, by name.
        customers: Names of the customers' firms.
        suppliers: Names of the suppliers' firms.
        products: Which products a customer has, by its name.
        contacts: Rows of the customers' people in the address book, by firm.
        disputed: Invoices that customers have written to the help desk about.
    """

    people: list[dict[str, Any]]
    departments: list[str]
    customers: list[str]
    suppliers: list[str]
    products: dict[str, list[str]]
    contacts: dict[str, list[dict[str, Any]]]
    disputed: list[Disputed]

    def of(self, department: str) -> list[str]:
        """Return the addresses of those who work in a department."""
        return [
            p["email"]
            for p in self.people
            if p["department"] == department and p["status"] == "active"
        ]


@dataclass(frozen=True)
class Disputed:
    """An invoice that a ticket is about."""

    number: str
    customer: str
    product: str
    written_at: str
    paid: bool


def company(service: Service) -> Company:
    """Read the address book and the help desk."""
    db = service.db
    people = db.all("SELECT * FROM contacts_person WHERE kind = 'colleague' ORDER BY id")
    customers = db.column("SELECT name FROM contacts_firm WHERE customer ORDER BY name")
    contacts = {
        name: db.all(
            "SELECT * FROM contacts_person WHERE company = ? AND customer_id IS NOT NULL"
            " ORDER BY id",
            name,
        )
        for name in customers
    }
    return Company(
        people=people,
        departments=sorted({p["department"] for p in people}),
        customers=customers,
        suppliers=db.column("SELECT name FROM contacts_firm WHERE NOT customer ORDER BY name"),
        products={name: _products(service, name) for name in customers},
        contacts=contacts,
        disputed=_disputed(service, customers),
    )


def _products(service: Service, customer: str) -> list[str]:
    return service.db.column(
        "SELECT DISTINCT t.product FROM tickets_ticket t JOIN tickets_customer c"
        " ON c.id = t.customer_id WHERE c.company = ? ORDER BY 1",
        customer,
    ) or list(PRICES)


def _disputed(service: Service, customers: list[str]) -> list[Disputed]:
    found: dict[str, Disputed] = {}
    for row in service.db.all(
        "SELECT t.body, t.product, t.created_at, c.company FROM tickets_ticket t"
        " JOIN tickets_customer c ON c.id = t.customer_id"
        " WHERE instr(t.body, 'INV-') ORDER BY t.created_at, t.id"
    ):
        # Who was entered twice may be filed under the first word of the firm's name.
        names = [n for n in customers if n == row["company"] or n.startswith(row["company"] + " ")]
        for number in re.findall(r"INV-\d{5}", row["body"]):
            if names and number not in found:
                found[number] = Disputed(
                    number,
                    names[0],
                    row["product"],
                    row["created_at"],
                    "charged twice" in row["body"],
                )
    return list(found.values())
