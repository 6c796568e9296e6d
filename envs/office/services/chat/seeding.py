"""Seeded talk: channels of departments and offices, about tickets and meetings that exist.

The data has the flaws of real chats: archived channels, members who have left, questions without
an answer, the same question in two places.
"""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from agentgym.services import Service, moment, time_of

TALKS = 260

TOPICS = (
    ("general", "Company-wide news", "public", 0), ("random", "Cats, cakes, cycling", "public", 0),
    ("launch-rosterboard-5", "Ship by the end of March", "public", 0),
    ("office-move", "Boxes and keys", "public", 0), ("incidents", "What is down", "public", 0),
    ("launch-ledgerly-3", "Shipped last year", "public", 1), ("old-intranet", "", "public", 1),
    ("leadership", "", "private", 0), ("salary-round", "Confidential", "private", 0),
    ("party-surprise", "Do not tell", "private", 0),
)  # fmt: skip

LINES = (
    ("Can somebody look at ticket #{ticket}? {company} is waiting.", "On it.", "Done, see there."),
    ("@{handle} is ticket #{ticket} yours?", "Yes, I will answer today.", "Thanks!"),
    ("Is #{ticket} the same as #{other}?", "Looks like it.", "Different customers, careful."),
    ("Where do we meet for {meeting!r}?", "See the invitation.", "We are full, I think."),
    ("@{handle} can you move {meeting!r}? I have a clash.", "Let me see.", "The day after?"),
    ("Has anybody the last version of {paper}?", "In the drive.", "There are two, careful."),
    ("Who keeps the workbook {book!r} up to date?", "@{handle} does.", "Not any more."),
    ("Is {article!r} still right?", "It is from before the move.", "@{handle} wrote it."),
    ("The printer on the second floor is out of toner.", "Again?", "New one comes on Thursday."),
    ("Who has the key to the post room?", "@{handle} had it last.", "It is at the front desk."),
    ("Deploy at three, please hold your merges.", "Ack.", "All done."),
    ("Lunch?", "In ten minutes.", "I am out today."),
)  # fmt: skip


def fill(service: Service, rng: random.Random) -> None:
    """Fill an empty chat."""
    staff = service.db.all("SELECT * FROM contacts_person WHERE kind = 'colleague' ORDER BY id")
    channels = _channels(service, rng, staff)
    tickets = service.db.all(
        "SELECT t.id, c.company FROM tickets_ticket t"
        " JOIN tickets_customer c ON c.id = t.customer_id ORDER BY t.created_at DESC LIMIT 120"
    )
    meetings = service.db.column(
        "SELECT title FROM calendar_event WHERE NOT private ORDER BY start DESC LIMIT 150"
    )
    papers = service.db.column(
        "SELECT name FROM files_item WHERE kind = 'file' AND trashed_at IS NULL ORDER BY id"
    )
    books = service.db.column("SELECT name FROM sheets_workbook ORDER BY id")
    articles = service.db.column("SELECT title FROM knowledge_article ORDER BY id")
    lines: list[dict[str, Any]] = []
    for thread in range(TALKS):
        channel = rng.choice(channels)
        age = rng.triangular(0, 60, 3) + (200 if channel["archived"] else 0)
        at = time_of(service.now) - timedelta(days=age, minutes=rng.randint(5, 300))
        slots = {
            "ticket": rng.choice(tickets)["id"],
            "other": rng.choice(tickets)["id"],
            "meeting": rng.choice(meetings),
            "paper": rng.choice(papers),
            "book": rng.choice(books),
            "article": rng.choice(articles),
        }
        slots["company"] = next(t["company"] for t in tickets if t["id"] == slots["ticket"])
        lines += _talk(service, rng, thread, channel, moment(at), slots)
    _store(service, rng, sorted(lines, key=lambda line: line["sent_at"]))


def _channels(
    service: Service, rng: random.Random, staff: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    there = [p["id"] for p in staff if p["status"] == "active"]
    everybody = [p["id"] for p in staff]
    wanted = [(*topic, sorted(rng.sample(everybody, 14))) for topic in TOPICS]
    wanted[0] = (*TOPICS[0], there)
    for column in ("department", "office"):
        for name in sorted({p[column] for p in staff}):
            members = [p["id"] for p in staff if p[column] == name]
            wanted.append((name.lower(), f"Of {name}", "public", 0, members))
    for other in rng.sample(there[1:], 12):
        wanted.append((f"direct-1-{other}", "", "direct", 0, [1, other]))
    made = []
    for position, (name, topic, kind, archived, people) in enumerate(wanted):
        members = set(people) | ({1} if position % 2 == 0 and kind == "public" else set())
        members -= {1} if name in ("salary-round", "party-surprise") else set()
        created = time_of(service.now) - timedelta(days=rng.randint(300, 900))
        row = {"name": name, "topic": topic, "kind": kind, "archived": archived}
        number = service.db.insert(
            "chat_channel", **row, creator_id=min(members), created_at=moment(created)
        )
        for person in sorted(members):
            service.db.insert("chat_member", channel_id=number, person_id=person)
        authors = [p for p in staff if p["id"] in members and p["status"] == "active"]
        made.append({**row, "id": number, "authors": authors})
    return made


def _talk(
    service: Service,
    rng: random.Random,
    thread: int,
    channel: dict[str, Any],
    at: str,
    slots: dict[str, Any],
) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    words = rng.choice(LINES)
    for text in words[: rng.randint(1, 3)]:
        if at >= service.now:
            break
        author = rng.choice(channel["authors"])
        named = rng.choice([p for p in channel["authors"] if p is not author] or [author])
        line = {
            "thread": thread,
            "channel_id": channel["id"],
            "author_id": author["id"],
            "text": text.format(**slots, handle=named["handle"]),
            "sent_at": at,
            "mentioned": named["id"] if "{handle}" in text else None,
            "apart": rng.random() < 0.2,  # some answer below instead of in the thread
        }
        made.append(line)
        at = moment(time_of(at) + timedelta(minutes=rng.randint(1, 300)))
    return made


def _store(service: Service, rng: random.Random, lines: list[dict[str, Any]]) -> None:
    first: dict[int, int] = {}
    for line in lines:
        thread, person, apart = line.pop("thread"), line.pop("mentioned"), line.pop("apart")
        number = service.db.insert(
            "chat_message", **line, thread_id=None if apart else first.get(thread)
        )
        first.setdefault(thread, number)
        if person:
            service.db.insert("chat_mention", message_id=number, person_id=person)
        if rng.random() < 0.2:
            members = service.db.column(
                "SELECT person_id FROM chat_member WHERE channel_id = ? ORDER BY 1",
                line["channel_id"],
            )
            service.db.insert(
                "chat_reaction",
                message_id=number,
                person_id=rng.choice(members),
                emoji=rng.choice(["thumbsup", "eyes", "tada"]),
            )
