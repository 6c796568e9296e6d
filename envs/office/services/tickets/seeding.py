"""Seeded data of a help desk: companies, their people, and a year of what they wrote in.

Every ticket is about a product that its company has, and speaks of the matter its subject
names. The data has the flaws of real desks: people entered twice, a matter reported twice, typing
errors, tags that mean the same, tickets that were not touched for months.
"""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from agentgym.services import Service, moment, time_of
from agentgym.services.arguments import plain_letters

from .matters import COMPANIES, FIRST, LAST, MATTERS, SUPPORT, Matter
from .sla import due_at

PEOPLE = 150
TICKETS = 420
OF_THESE_DAYS = 16


def fill(service: Service, rng: random.Random) -> None:
    """Fill the tables of an empty help desk."""
    for agent, name, team, active in SUPPORT:
        service.db.insert("tickets_agent", id=agent, name=name, team=team, active=active)
    companies = _companies(rng)
    people = [_person(service, rng, rng.choice(companies)) for _ in range(PEOPLE)]
    for person in rng.sample(people, 6):
        people.append(_entered_twice(service, rng, person))
    days = [rng.triangular(0, 365, 30) for _ in range(TICKETS)]
    days += [rng.uniform(0, 2.5) for _ in range(OF_THESE_DAYS)]
    made: list[dict[str, Any]] = []
    for age in sorted(days, reverse=True):
        if made and rng.random() < 0.05:
            made.append(_reported_again(service, rng, rng.choice(made[-40:]), people))
        else:
            made.append(_ticket(service, rng, rng.choice(people), age))
    _link(service, rng, made)


def _companies(rng: random.Random) -> list[dict[str, Any]]:
    products = sorted(MATTERS)
    return [
        {
            "name": name,
            "domain": domain,
            "plan": rng.choices(["basic", "business", "enterprise"], [5, 4, 2])[0],
            "products": rng.sample(products, rng.randint(1, 3)),
        }
        for name, domain in COMPANIES
    ]


def _person(service: Service, rng: random.Random, company: dict[str, Any]) -> dict[str, Any]:
    first, last = rng.choice(FIRST), rng.choice(LAST)
    since = time_of(service.now) - timedelta(days=rng.randint(380, 2200))
    row = {
        "name": f"{first} {last}",
        "company": company["name"],
        "email": f"{plain_letters(first)}.{plain_letters(last)}@{company['domain']}",
        "phone": f"+1 555 {rng.randint(100, 999)} {rng.randint(1000, 9999)}",
        "plan": company["plan"],
        "since": moment(since)[:10],
    }
    number = service.db.insert("tickets_customer", **row)
    return {**row, "id": number, "products": company["products"]}


def _entered_twice(service: Service, rng: random.Random, person: dict[str, Any]) -> dict[str, Any]:
    first, last = person["name"].split(" ", 1)
    domain = person["email"].split("@")[1]
    row = {
        "name": rng.choice([f"{last}, {first}", f"{first[0]}. {last}", person["name"].lower()]),
        "company": rng.choice([person["company"], person["company"].split()[0]]),
        "email": f"{plain_letters(first)[0]}{plain_letters(last)}@{domain}",
        "phone": person["phone"].replace(" ", rng.choice(["", "-"])),
        "plan": person["plan"],
        "since": person["since"],
    }
    number = service.db.insert("tickets_customer", **row)
    return {**row, "id": number, "products": person["products"]}


def _ticket(
    service: Service, rng: random.Random, person: dict[str, Any], age_days: float
) -> dict[str, Any]:
    product = rng.choice(person["products"])
    matter = rng.choice(MATTERS[product])
    slots = {
        "product": product,
        "company": person["company"],
        "n": str(rng.randint(2, 90)),
        "order": f"INV-{rng.randint(10_000, 99_999)}",
        "day": rng.choice(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]),
    }
    created = time_of(service.now) - timedelta(days=age_days, seconds=rng.randint(0, 3600))
    return _write(service, rng, person, matter, slots, created)


def _reported_again(
    service: Service, rng: random.Random, first: dict[str, Any], people: list[dict[str, Any]]
) -> dict[str, Any]:
    colleagues = [p for p in people if p["company"] == first["person"]["company"]]
    created = min(
        time_of(first["created_at"]) + timedelta(hours=rng.randint(2, 60)),
        time_of(service.now) - timedelta(minutes=rng.randint(5, 200)),
    )
    return _write(service, rng, rng.choice(colleagues), first["matter"], first["slots"], created)


def _write(
    service: Service,
    rng: random.Random,
    person: dict[str, Any],
    matter: Matter,
    slots: dict[str, str],
    created: Any,
) -> dict[str, Any]:
    priority = rng.choices(["low", "normal", "high", "urgent"], matter.press)[0]
    age_days = (time_of(service.now) - created).total_seconds() / 86_400
    done = rng.random() < min(0.93, age_days / 12)
    said = _conversation(service, rng, person, matter, slots, created, done)
    row = {
        "customer_id": person["id"],
        "subject": _mistyped(rng, matter.subject.format(**slots)),
        "body": f"{rng.choice(_GREETINGS)}\n\n{matter.body.format(**slots)}\n\n{person['name']}",
        "product": slots["product"],
        "status": "closed" if done else rng.choice(["open", "open", "pending"]),
        "priority": priority,
        "assignee": None if not done and rng.random() < 0.35 else rng.choice(SUPPORT[:8])[0],
        "created_at": moment(created),
        "updated_at": said[-1]["created_at"] if said else moment(created),
        "due_at": due_at(moment(created), person["plan"], priority),
        "resolution": matter.resolution.format(**slots) if done else None,
        "version": 1 + len(said) + done,
    }
    number = service.db.insert("tickets_ticket", **row)
    for comment in said:
        service.db.insert("tickets_comment", ticket_id=number, **comment)
    for tag in sorted({_as_somebody_tags(rng, tag) for tag in matter.tags if rng.random() < 0.8}):
        service.db.insert("tickets_tag", ticket_id=number, tag=tag)
    return {**row, "id": number, "person": person, "matter": matter, "slots": slots}


def _conversation(
    service: Service,
    rng: random.Random,
    person: dict[str, Any],
    matter: Matter,
    slots: dict[str, str],
    created: Any,
    done: bool,
) -> list[dict[str, Any]]:
    lines = [("agent", rng.choice(_FIRST_ANSWERS), 0), ("user", matter.more, 0)]
    lines += [("agent", matter.note, 1)] if rng.random() < 0.5 else []
    count = len(lines) if done else rng.randint(0, len(lines))
    said = []
    for author, text, internal in lines[:count]:
        created = created + timedelta(minutes=rng.randint(12, 2000))
        if moment(created) >= service.now:
            break
        who = rng.choice(SUPPORT[:8])[1] if author == "agent" else person["name"]
        said.append(
            {
                "author": who,
                "body": text.format(**slots, first=person["name"].split()[0]),
                "internal": internal,
                "created_at": moment(created),
            }
        )
    return said


def _link(service: Service, rng: random.Random, made: list[dict[str, Any]]) -> None:
    waiting = [ticket for ticket in made if ticket["status"] != "closed"]
    for ticket in rng.sample(waiting, min(12, len(waiting))):
        others = [
            t for t in waiting if t["product"] == ticket["product"] and t["id"] < ticket["id"]
        ]
        if others:
            service.db.insert(
                "tickets_link",
                ticket_id=ticket["id"],
                other_id=rng.choice(others)["id"],
                kind=rng.choice(["relates_to", "relates_to", "blocks"]),
            )


_GREETINGS = ("Hello,", "Hi there,", "Good morning,", "Hi team,", "Dear support,")
_FIRST_ANSWERS = (
    "Hello {first}, thank you for writing. I am looking into it and will be back today.",
    "Hi {first}, could you tell us since when this happens and who is affected?",
    "Thank you, {first}. I can see it on our side, too; I have asked the product team.",
)
_SAME_TAG = {"billing": "invoices", "login": "sign-in", "bug": "defect"}


def _as_somebody_tags(rng: random.Random, tag: str) -> str:
    return _SAME_TAG[tag] if tag in _SAME_TAG and rng.random() < 0.25 else tag


def _mistyped(rng: random.Random, text: str) -> str:
    """Return a line as some people type it: letters swapped, no capitals, a space too many."""
    luck = rng.random()
    if luck < 0.06:
        at = rng.randint(1, len(text) - 3)
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    if luck < 0.12:
        return text.lower()
    return text + " " if luck < 0.14 else text
