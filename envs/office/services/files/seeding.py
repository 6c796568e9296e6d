"""Seeded data of a drive: the papers of the company, as orderly as real drives are.

Their owners and sharers are colleagues of the address book; invoices are those of the workbooks.
The data has the flaws of real drives: copies called final that are newer or older than the
original; shares of people who have left and of outsiders; a trash that is never emptied.
"""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import product
from typing import Any

from agentgym.services import Image, Service, moment, time_of

from .papers import DEPARTMENT, NEXT_VERSION, PAPERS, QUARTERS, SHARED_WITH_ME, YEARS
from .picture import bars
from .rights import EVERYONE, TOP

_MONTHS = ("January", "March", "April", "June", "September", "December")


def fill(service: Service, rng: random.Random) -> None:
    """Fill the tables of an empty drive."""
    people = service.db.all("SELECT * FROM contacts_person WHERE kind = 'colleague' ORDER BY id")
    me, head, deputy = (person["email"] for person in people[:3])
    slots = _slots(service)
    _item(service, "folder", "", None, head, "2022-01-10T08:00:00Z")
    files: list[dict[str, Any]] = []
    for team, folders in PAPERS.items():
        department = DEPARTMENT.get(team, team)
        members = [
            p["email"]
            for p in people
            if p["department"] == department and (p["status"] == "active" or rng.random() < 0.7)
        ]
        leads = [p["email"] for p in people if p["department"] == department]
        owner = leads[0] if team == department != "Management" else deputy
        top = _item(service, "folder", team, TOP, owner, _before(service, rng, 1400, 1500))
        _share_team(service, top, team, owner, members, me)
        for name, papers in folders.items():
            inner = _item(service, "folder", name, top, owner, _before(service, rng, 1300, 1399))
            for paper, text in papers:
                files += _papers(service, rng, inner, paper, text, members, slots)
            if name == "Invoices":
                files += _invoices(service, rng, inner, members)
    _mess(service, rng, files)
    _home(service, rng, files, people[0])
    _stale_shares(service, rng, files, people)


def _slots(service: Service) -> dict[str, Any]:
    """Return the values of the braces in names."""
    column = service.db.column
    firms = "SELECT name FROM contacts_firm WHERE customer = ? ORDER BY name"
    return {
        "customer": column(firms, 1),
        "supplier": column(firms, 0),
        "product": column("SELECT DISTINCT product FROM tickets_ticket ORDER BY 1"),
        "office": column(
            "SELECT DISTINCT office FROM contacts_person WHERE office IS NOT NULL ORDER BY 1"
        ),
        "quarter": QUARTERS,
        "year": YEARS,
    }


def _share_team(
    service: Service, top: int, team: str, owner: str, members: list[str], me: str
) -> None:
    grants = {mail: "editor" for mail in members if mail != owner}
    if team in SHARED_WITH_ME and me != owner:
        grants[me] = SHARED_WITH_ME[team]
    if team == "Company":
        grants = {EVERYONE: "viewer"}
    for mail, role in grants.items():
        _share(service, top, mail, role, owner, "2024-02-01T09:00:00Z", None)


def _papers(
    service: Service,
    rng: random.Random,
    folder: int,
    name: str,
    text: str,
    members: list[str],
    known_slots: dict[str, Any],
) -> list[dict[str, Any]]:
    held = [slot for slot in sorted(known_slots) if "{" + slot + "}" in name]
    made = []
    for values in product(*(known_slots[slot] for slot in held)):
        known = dict(zip(held, values, strict=True))
        year = int(known.get("year", rng.choice(YEARS[1:])))
        if (year == 2026 and known.get("quarter", "Q1") != "Q1") or rng.random() < 0.12:
            continue
        slots = {
            **{slot: rng.choice(known_slots[slot]) for slot in sorted(known_slots)},
            "month": rng.choice(_MONTHS),
            "n": rng.randint(4, 60),
            "sum": f"{rng.randint(12, 900) * 100:,}",
            "year": year,
            **known,
        }
        age = (2026 - year) * 330 + rng.randint(3, 50)
        made.append(_paper(service, rng, folder, name.format(**slots), text, slots, members, age))
    return made


def _invoices(
    service: Service, rng: random.Random, folder: int, members: list[str]
) -> list[dict[str, Any]]:
    """File the latest invoices, as the workbooks of the year have them."""
    rows = service.db.all(
        "SELECT * FROM sheets_line WHERE workbook GLOB 'Customer invoices 20*'"
        " AND sheet = 'Invoices' AND row > 1 ORDER BY e DESC, a LIMIT 60"
    )
    text = "Invoice {a}\nTo: {b}\nFor: {d:.0f} seats of {c}\nIssued: {e}\nDue: {f}\nTotal: {g}"
    made = {}
    for row in rows:
        name = f"{row['a']} {row['b']}.txt"
        if name not in made:
            age = (time_of(service.now) - time_of(f"{row['e']}T12:00:00Z")).days
            total = row["g"] if isinstance(row["g"], str) else f"EUR {row['g']:.2f}"
            known = {**row, "g": total}
            made[name] = _paper(service, rng, folder, name, text, known, members, age)
    return list(made.values())


def _paper(
    service: Service,
    rng: random.Random,
    folder: int,
    name: str,
    text: str,
    slots: dict[str, Any],
    members: list[str],
    age_days: int,
) -> dict[str, Any]:
    owner = rng.choice(members)
    at = time_of(service.now) - timedelta(days=age_days, minutes=rng.randint(1, 600))
    number = _item(service, "file", name, folder, owner, moment(at))
    body = text.format(**slots)
    picture = _picture(service, rng) if name.endswith(".png") else None
    count = rng.choices([1, 2, 3, 5], [6, 3, 2, 1])[0]
    for version in range(1, count + 1):
        if version > 1:
            at = min(at + timedelta(hours=rng.randint(1, 400)), _last(service, rng))
            body += rng.choice(NEXT_VERSION).format(day=moment(at)[:10])
        author = rng.choice(members) if version > 1 else owner
        _version(service, number, version, body, picture, author, moment(at))
    service.db.execute(
        "UPDATE files_item SET version = ?, updated_at = ? WHERE id = ?", count, moment(at), number
    )
    return {"id": number, "name": name, "folder": folder, "owner": owner, "body": body, "at": at,
            "picture": picture, "members": members}  # fmt: skip


def _mess(service: Service, rng: random.Random, files: list[dict[str, Any]]) -> None:
    """Copy papers under names that do not tell which one counts; put some in the trash."""
    for paper in rng.sample(files, 45):
        stem, dot, ending = paper["name"].rpartition(".")
        names = ["_final", "_final_v2", " - copy", " (2)", "_final_FINAL", "_old", " neu"]
        for suffix in rng.sample(names, rng.choice([1, 1, 2])):
            body = paper["body"]
            if rng.random() < 0.6:
                body = "7".join(body.rsplit("1", 1)) if rng.random() < 0.5 else body + "\nApproved."
            at = paper["at"] + timedelta(days=rng.randint(-20, 60))
            when = moment(min(at, _last(service, rng)))
            owner = rng.choice(paper["members"])
            number = _item(
                service, "file", f"{stem}{suffix}{dot}{ending}", paper["folder"], owner, when
            )
            _version(service, number, 1, body, paper["picture"], owner, when)
            if rng.random() < 0.3:
                _throw_away(service, rng, number, when)
    for paper in rng.sample(files, 15):
        _throw_away(service, rng, paper["id"], moment(paper["at"]))


def _home(
    service: Service, rng: random.Random, files: list[dict[str, Any]], person: dict[str, Any]
) -> None:
    """Give the person at work a folder of their own, and a few papers that others shared."""
    me = person["email"]
    home = _item(service, "folder", person["name"], TOP, me, "2023-05-02T08:00:00Z")
    drafts = _item(service, "folder", "Drafts", home, me, "2023-05-02T08:05:00Z")
    notes = ("To do.txt", "Passwords - do not share.txt", "Ideas summer party.md", "Untitled.txt")
    texts = (
        "Call the landlord. Renew the printer lease.",
        "(moved to the vault)",
        "Boat? Zoo?",
        "",
    )
    for folder, name, text in zip((home, home, drafts, drafts), notes, texts, strict=True):
        when = _before(service, rng, 2, 200)
        _version(service, _item(service, "file", name, folder, me, when), 1, text, None, me, when)
    for paper in rng.sample([paper for paper in files if paper["owner"] != me], 12):
        role = rng.choice(["viewer", "editor"])
        _share(service, paper["id"], me, role, paper["owner"], moment(paper["at"]), None)


def _stale_shares(
    service: Service, rng: random.Random, files: list[dict[str, Any]], people: list[dict[str, Any]]
) -> None:
    """Leave shares with colleagues who have left, and with people of some suppliers."""
    gone = [person["email"] for person in people if person["status"] == "left"]
    outside = service.db.column(
        "SELECT email FROM contacts_person WHERE kind = 'outside' AND customer_id IS NULL"
        " ORDER BY id"
    )
    grantees = [*gone, *rng.sample(outside, 3)]
    mine = [paper for paper in files if paper["owner"] == people[0]["email"]]
    for paper in rng.sample(files, 30) + mine[:6]:
        grantee = rng.choice(grantees)
        ends = rng.choice([None, None, "2025-06-30T22:00:00Z", "2025-12-31T23:00:00Z"])
        given = min(moment(paper["at"]), "2025-05-30T10:00:00Z")
        role = rng.choice(["viewer", "viewer", "editor"])
        taken = "SELECT 1 FROM files_share WHERE item_id = ? AND grantee = ?"
        if not service.db.value(taken, paper["id"], grantee):
            _share(service, paper["id"], grantee, role, paper["owner"], given, ends)


def _throw_away(service: Service, rng: random.Random, item: int, when: str) -> None:
    at = min(time_of(when) + timedelta(days=rng.randint(1, 90)), _last(service, rng))
    service.db.execute("UPDATE files_item SET trashed_at = ? WHERE id = ?", moment(at), item)


def _item(service: Service, kind: str, name: str, folder: int | None, owner: str, when: str) -> int:
    return service.db.insert(
        "files_item", kind=kind, name=name, folder_id=folder, owner=owner, created_at=when,
        updated_at=when,
    )  # fmt: skip


def _version(
    service: Service, item: int, number: int, body: str, picture: str | None, author: str, when: str
) -> None:
    service.db.insert(
        "files_version", item_id=item, number=number, content=body, picture=picture,
        author=author, saved_at=when,
    )  # fmt: skip


def _share(
    service: Service, item: int, grantee: str, role: str, by: str, when: str, ends: str | None
) -> None:
    service.db.insert(
        "files_share", item_id=item, grantee=grantee, role=role, granted_by=by, granted_at=when,
        expires_at=ends,
    )  # fmt: skip


def _picture(service: Service, rng: random.Random) -> str:
    image = Image(bars([rng.randint(2, 22) for _ in range(6)]))
    service.db.execute(
        "INSERT OR IGNORE INTO files_picture (name, mime, data) VALUES (?, ?, ?)",
        image.name,
        image.mime,
        image.data,
    )
    return image.name


def _before(service: Service, rng: random.Random, least_days: int, most_days: int) -> str:
    minutes = rng.randint(least_days * 1440, most_days * 1440)
    return moment(time_of(service.now) - timedelta(minutes=minutes))


def _last(service: Service, rng: random.Random) -> Any:
    return time_of(service.now) - timedelta(minutes=rng.randint(20, 6000))
