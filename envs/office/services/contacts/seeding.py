"""Seeded people: a company of sixty, and about a hundred outside it.

Outside are customers of the help desk, by their names and addresses there, and suppliers. The data
has the flaws of real address books: people entered twice, people who have left, old addresses,
and people whose names are almost the same.
"""

from __future__ import annotations

import random
import re
from datetime import timedelta
from typing import Any

from agentgym.services import Service, moment, time_of
from agentgym.services.arguments import plain_letters

from .people import (
    COMPANY,
    DEPARTMENTS,
    DOMAIN,
    FIRMS,
    FIRST,
    LAST,
    OFFICES,
    SPELT_OTHERWISE,
)

CUSTOMERS = 70


def fill(service: Service, rng: random.Random) -> None:
    """Fill an empty address book; number 1 is the person whose office this is."""
    names = _names(rng)
    _management(service, rng, names)
    for department, (size, head, roles) in DEPARTMENTS.items():
        leader = _colleague(service, rng, next(names), department, head, 2)
        for _ in range(size - 1):
            _colleague(service, rng, next(names), department, rng.choice(roles), leader)
    _support(service, rng)
    _leave(service, rng)
    _customers(service, rng)
    _suppliers(service, rng, names)
    _namesakes(service, rng)
    _enter_twice(service, rng)
    _groups(service, rng)


def _names(rng: random.Random) -> Any:
    firsts = [*rng.sample(FIRST, len(FIRST)), *rng.sample(FIRST, len(FIRST))]
    lasts = [*rng.sample(LAST, len(LAST)), *rng.sample(LAST, len(LAST))]
    return iter([f"{a} {b}" for a, b in zip(firsts, lasts, strict=True)])


def _management(service: Service, rng: random.Random, names: Any) -> None:
    me = _colleague(service, rng, next(names), "Management", "Executive assistant", None)
    head = _colleague(service, rng, next(names), "Management", "Managing director", None)
    _colleague(service, rng, next(names), "Management", "Head of operations", head)
    service.db.execute(
        "UPDATE contacts_person SET manager_id = ?, office = 'Berlin', timezone = 'Europe/Berlin'"
        " WHERE id = ?",
        head,
        me,
    )


def _support(service: Service, rng: random.Random) -> None:
    agents = service.db.all("SELECT * FROM tickets_agent ORDER BY id")
    leader = None
    for agent in agents:
        role = f"Support, {agent['team']}" if leader else "Head of support"
        number = _colleague(
            service, rng, agent["name"], "Support", role, leader or 2, handle=agent["id"]
        )
        leader = leader or number
        if not agent["active"]:
            service.db.execute("UPDATE contacts_person SET status = 'left' WHERE id = ?", number)


def _colleague(
    service: Service,
    rng: random.Random,
    name: str,
    department: str,
    role: str,
    manager: int | None,
    handle: str | None = None,
) -> int:
    office = rng.choices(list(OFFICES), [5, 3, 3, 2])[0]
    first, last = name.split(" ", 1)
    return service.db.insert(
        "contacts_person",
        name=name,
        email=_free(service, f"{plain_letters(first)}.{plain_letters(last)}", DOMAIN),
        phone=f"+1 555 010 {rng.randint(1000, 9999)}",
        company=COMPANY,
        department=department,
        role=role,
        office=office,
        timezone=OFFICES[office],
        kind="colleague",
        status="active",
        handle=handle or _handle(service, first, last),
        manager_id=manager,
        updated_at=_long_ago(service, rng),
    )


def _handle(service: Service, first: str, last: str) -> str:
    for count in range(1, 20):
        handle = plain_letters(first)[:count] + plain_letters(last)
        if not service.db.value("SELECT 1 FROM contacts_person WHERE handle = ?", handle):
            return handle
    raise AssertionError(f"too many of the name {first} {last}")


def _leave(service: Service, rng: random.Random) -> None:
    may = "kind = 'colleague' AND id > 3 AND status = 'active' AND manager_id <> 2"
    numbers = service.db.column(
        f"SELECT id FROM contacts_person WHERE {may} AND department <> 'Support' ORDER BY id"
    )
    for number in rng.sample(numbers, 4):
        service.db.execute("UPDATE contacts_person SET status = 'left' WHERE id = ?", number)
    stay = service.db.column(
        "SELECT id FROM contacts_person WHERE kind = 'colleague' AND status = 'active' ORDER BY id"
    )
    for number in rng.sample(stay, 6):  # people who married, and short addresses of early days
        row = service.db.one("SELECT name FROM contacts_person WHERE id = ?", number)
        assert row is not None
        first, last = row["name"].split(" ", 1)
        old = rng.choice(
            [plain_letters(first), f"{plain_letters(first)}.{plain_letters(rng.choice(LAST))}"]
        )
        if not _taken(service, f"{old}@{DOMAIN}"):
            _alias(service, f"{old}@{DOMAIN}", number)
    _alias(service, f"office@{DOMAIN}", 1)


def _customers(service: Service, rng: random.Random) -> None:
    rows = service.db.all("SELECT * FROM tickets_customer ORDER BY id")
    by_phone: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_phone.setdefault(re.sub(r"\D", "", row["phone"]), []).append(row)
    twice = [row for same in by_phone.values() if len(same) > 1 for row in same]
    others = [row for same in by_phone.values() if len(same) == 1 for row in same]
    one_each = list({row["company"]: row for row in others}.values())
    others = [row for row in others if row not in one_each]
    more = rng.sample(others, CUSTOMERS - len(twice) - len(one_each))
    wanted = sorted([*twice, *one_each, *more], key=lambda row: row["id"])
    for row in wanted:
        if _taken(service, row["email"]):
            continue
        left = rng.random() < 0.06
        _outside(
            service,
            rng,
            name=row["name"],
            email=row["email"],
            phone=row["phone"],
            company=row["company"],
            role=rng.choice(_ROLES),
            timezone=rng.choice(["Europe/Berlin", "Europe/London", "America/New_York"]),
            status="left" if left else "active",
            customer_id=row["id"],
            note="Has left the company; ask their front desk." if left else "",
        )


def _suppliers(service: Service, rng: random.Random, names: Any) -> None:
    for firm, domain, zone, role in FIRMS:
        for _ in range(rng.randint(2, 3)):
            name = next(names)
            first, last = name.split(" ", 1)
            _outside(
                service,
                rng,
                name=name,
                email=_free(service, f"{plain_letters(first)[0]}.{plain_letters(last)}", domain),
                phone=f"+1 555 020 {rng.randint(1000, 9999)}",
                company=firm,
                role=role,
                timezone=zone,
                note=rng.choice(["", "", "Prefers mail to calls.", "Contract runs to June 2026."]),
            )


def _namesakes(service: Service, rng: random.Random) -> None:
    """Enter people outside whose names are almost those of colleagues."""
    colleagues = service.db.all(
        "SELECT name FROM contacts_person WHERE kind = 'colleague' ORDER BY id"
    )
    near = [
        person["name"].removesuffix(last) + other
        for person in colleagues
        for last, other in SPELT_OTHERWISE
        if person["name"].endswith(f" {last}")
    ]
    same = rng.choice([p["name"] for p in colleagues if p["name"].split(" ")[1] in LAST])
    for name in [*rng.sample(near, min(3, len(near))), same]:
        first, last = name.split(" ", 1)
        firm, domain, zone, role = rng.choice(FIRMS)
        email = _free(service, f"{plain_letters(first)[0]}.{plain_letters(last)}", domain)
        _outside(service, rng, name=name, email=email, company=firm, role=role, timezone=zone)


def _enter_twice(service: Service, rng: random.Random) -> None:
    """Enter suppliers again: as somebody typed them from a card, or under an old address."""
    rows = service.db.all(
        "SELECT * FROM contacts_person WHERE kind = 'outside' AND customer_id IS NULL ORDER BY id"
    )
    for row in rng.sample(rows, 5):
        first, last = row["name"].split(" ", 1)
        domain = row["email"].split("@")[1]
        _outside(
            service,
            rng,
            name=rng.choice([f"{last}, {first}", f"{first[0]}. {last}", row["name"].upper()]),
            email=_free(service, f"{plain_letters(first)}{plain_letters(last)}", domain),
            phone=row["phone"].replace(" ", "-"),
            company=rng.choice([row["company"], row["company"].split()[0]]),
            timezone=row["timezone"],
            note=rng.choice(["", "Card from the fair.", "Old entry?"]),
        )


def _outside(service: Service, rng: random.Random, **values: Any) -> int:
    row = {"kind": "outside", "status": "active", "updated_at": _long_ago(service, rng), **values}
    return service.db.insert("contacts_person", **row)


def _groups(service: Service, rng: random.Random) -> None:
    colleagues = service.db.all(
        "SELECT id, department, office, status FROM contacts_person WHERE kind = 'colleague'"
        " ORDER BY id"
    )
    there = [row for row in colleagues if row["status"] == "active"]
    _group(service, "Everyone", "everyone", True, [row["id"] for row in there])
    for department in (*DEPARTMENTS, "Management", "Support"):
        members = [row["id"] for row in there if row["department"] == department]
        _group(service, department, department.lower(), True, members)
    for office in OFFICES:
        members = [row["id"] for row in there if row["office"] == office]
        _group(service, f"{office} office", office.lower(), True, members)
    everybody = [row["id"] for row in colleagues]  # lists by hand keep who has left
    for name, address in (
        ("Summer party committee", "summer-party"),
        ("First aiders", "first-aid"),
        ("Launch Rosterboard 5", "rosterboard-5"),
        ("Security reviewers", "security-review"),
    ):
        _group(service, name, address, False, sorted({1, *rng.sample(everybody, 7)}))
    outside = service.db.column("SELECT id FROM contacts_person WHERE kind = 'outside' ORDER BY id")
    _group(service, "Advisory board", "advisory-board", False, sorted(rng.sample(outside, 8)))


def _group(service: Service, name: str, address: str, managed: bool, members: list[int]) -> None:
    number = service.db.insert(
        "contacts_group", name=name, email=f"{address}@{DOMAIN}", managed=managed
    )
    for person in members:
        service.db.insert("contacts_member", group_id=number, person_id=person)


_ROLES = ("Office manager", "Bookkeeper", "Operations lead", "Owner", "IT contact", "Purchasing")


def _alias(service: Service, email: str, person: int) -> None:
    service.db.insert("contacts_alias", email=email, person_id=person)


def _taken(service: Service, email: str) -> bool:
    return bool(service.db.value("SELECT 1 FROM contacts_address WHERE email = ?", email))


def _free(service: Service, local: str, domain: str) -> str:
    for mark in ("", "2", "3", "4"):
        if not _taken(service, f"{local}{mark}@{domain}"):
            return f"{local}{mark}@{domain}"
    raise AssertionError(f"too many of the address {local}@{domain}")


def _long_ago(service: Service, rng: random.Random) -> str:
    return moment(time_of(service.now) - timedelta(days=rng.randint(20, 900)))
