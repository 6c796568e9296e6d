"""The forum's data: members, boards, and two years of threads with what belongs to them."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any, Final

from agentgym.services import Service, moment, time_of
from agentgym.services.arguments import plain_letters

from .rules import secret
from .texts import ABOUT, BOARDS, FOLLOWING, MATTERS, NEWS, PRIVATE, RUDE, SPAM, Matter

MEMBERS: Final = 240
THREADS: Final = 620
_STAFF: Final = {
    "mara@shop.example": ("mara", "admin", "ledger-bridge-4"),
    "tomas@shop.example": ("tomas", "moderator", "paper-window-9"),
    "yuki@shop.example": ("yuki", "moderator", "silver-pencil-2"),
    "nora.winter@mail.example": ("nora_w", "member", "amber-lantern-7"),
}
_KINDS: Final = (
    *("kettle", "teapot", "bread knife", "frying pan", "wool blanket", "curtain", "desk lamp"),
    *("lantern", "watering can", "plant pot", "fountain pen", "desk organiser", "kite", "rucksack"),
    *("camping stove", "head torch", "hand saw", "spirit level", "shower caddy", "bath mat"),
    *("coat rack", "drawer unit", "mirror", "bird feeder", "table cloth", "notebook"),
)
_BRANDS: Final = ("Nordlys", "Hollin & Page", "Kestra", "Brühl", "Oak Lane", "Tamaris", "Værk")
_SIZES: Final = ("small", "large", "No. 2", "No. 4", "compact", "30 cm", "45 cm")
_TOWNS: Final = ("Berlin", "Hamburg", "Wien", "Lyon", "Gent", "Malmö")


def fill(service: Service, rng: random.Random) -> None:
    """Create everything."""
    _members(service, rng)
    for number, (slug, name, about, staff_only) in enumerate(BOARDS, 1):
        values = {"slug": slug, "name": name, "about": about, "staff_only": staff_only}
        service.db.insert("forum_board", id=number, **values)
    _Threads(service, rng).fill()


def _members(service: Service, rng: random.Random) -> None:
    """Give an account to staff and to some customers, under the names that they have chosen."""
    accounts = service.db.all("SELECT id, name, email, city FROM shop_account ORDER BY id")
    customers = [row for row in accounts if row["email"] not in _STAFF]
    taken = set[str]()
    staff = [row for row in accounts if row["email"] in _STAFF]
    for row in [*staff, *rng.sample(customers, MEMBERS)]:
        email = str(row["email"]).lower()
        handle, role, password = _STAFF.get(email, ("", "member", f"{row['id']}-{rng.random()}"))
        handle = handle or _handle(rng, row["name"], taken)
        taken.add(handle.lower())
        service.db.insert(
            "forum_user",
            handle=handle,
            name=row["name"],
            email=email,
            secret=secret(email, password),
            role=role,
            town=row["city"] if rng.random() < 0.6 else "",
            about=rng.choice(ABOUT),
            created_at=_before(service, rng, 1100, 731),
        )
    service.db.execute("UPDATE forum_user SET role = 'moderator' WHERE id = 9")


def _handle(rng: random.Random, name: str, taken: set[str]) -> str:
    given, _, family = name.partition(" ")
    given, family = plain_letters(given), plain_letters(family)
    while True:
        handle = rng.choice(
            (
                f"{given}_{family[0]}",
                f"{given}{rng.randint(60, 99)}",
                f"{family}.{given[0]}",
                f"{given.capitalize()}{family.capitalize()}",
                f"{rng.choice(_KINDS).replace(' ', '')}_{given}",
            )
        )
        if handle.lower() not in taken:
            return handle


def _before(service: Service, rng: random.Random, most_days: int, least_days: float = 0.1) -> str:
    minutes = rng.randint(int(least_days * 1440), most_days * 1440)
    return moment(time_of(service.now) - timedelta(minutes=minutes))


class _Threads:
    """Writes the threads, oldest first, so that numbers grow with time."""

    def __init__(self, service: Service, rng: random.Random) -> None:
        self.service, self.db, self.rng = service, service.db, rng
        self.now = time_of(service.now)
        self.members = self.db.column("SELECT id FROM forum_user WHERE role = 'member' ORDER BY id")
        self.staff = self.db.column("SELECT id FROM forum_user WHERE role <> 'member' ORDER BY id")
        names = self.db.all("SELECT id, name FROM forum_user")
        self.given = {row["id"]: str(row["name"]).split()[0] for row in names}
        slugs = self.db.all("SELECT id, slug FROM forum_board")
        self.boards = {row["slug"]: row["id"] for row in slugs}

    def fill(self) -> None:
        """Write all threads, complaints and drafts."""
        starts = sorted(_before(self.service, self.rng, 730) for _ in range(THREADS))
        news = dict(zip(self.rng.sample(range(THREADS), len(NEWS)), NEWS, strict=True))
        for place, start in enumerate(starts):
            if place in news:
                self._news(start, *news[place])
            else:
                self._thread(time_of(start), self.rng.choice(MATTERS))
        self._flags()
        self._drafts()

    def _news(self, start: str, title: str, body: str) -> None:
        number = self.db.insert(
            "forum_thread",
            board_id=self.boards["news"],
            author_id=self.staff[0],
            title=title,
            status="open",
            pinned=int(title.startswith("Rules")),
            locked=int(title.startswith("Rules")),
            created_at=start,
            updated_at=start,
        )
        self._post(number, self.staff[0], body, time_of(start))

    def _thread(self, start: datetime, matter: Matter) -> None:
        rng = self.rng
        facts = {
            "kind": rng.choice(_KINDS),
            "brand": rng.choice(_BRANDS),
            "size": rng.choice(_SIZES),
            "town": rng.choice(_TOWNS),
        }
        author = rng.choice(self.members)
        title = self._said(matter.titles, facts)
        title = title[0].upper() + title[1:] if rng.random() < 0.9 else title.lower()
        if rng.random() < 0.03:
            title = title.upper()
        number = self.db.insert(
            "forum_thread",
            board_id=self.boards[matter.board],
            author_id=author,
            title=title,
            status="open",
            created_at=moment(start),
            updated_at=moment(start),
        )
        self._post(number, author, self._said(matter.openings, facts), start)
        last, answered = self._replies(number, author, start, matter, facts)
        self._end(number, matter, last, answered)

    def _replies(
        self, thread: int, author: int, start: datetime, matter: Matter, facts: dict[str, str]
    ) -> tuple[datetime, bool]:
        rng, at, answered = self.rng, start, False
        many = rng.choices((0, 1, 3, 6, 14), (8, 22, 40, 25, 5))[0]
        answers = rng.sample(matter.answers, len(matter.answers))
        for turn in range(many):
            at += timedelta(minutes=rng.randint(9, 2600))
            if at >= self.now:
                break
            if answers and rng.random() < 0.6:
                who, body = rng.choice(self.members), answers.pop()
                answered = True
                if body.startswith(("Passed on", "Noted", "Fixed", "Confirmed", "We have")):
                    who = rng.choice(self.staff)
            else:
                who = author if turn % 3 == 2 else rng.choice(self.members)
                body = rng.choice(FOLLOWING)
            self._post(thread, who, body.format(**facts), at)
        else:
            return at, answered
        return self.now - timedelta(minutes=30), answered

    def _end(self, thread: int, matter: Matter, last: datetime, answered: bool) -> None:
        rng, status = self.rng, "open"
        if matter.board == "wishes":
            status = rng.choices(("open", "planned", "done", "declined"), (55, 15, 10, 20))[0]
        elif matter.board in ("help", "repairs", "site") and answered:
            status = rng.choices(("open", "answered"), (35, 65))[0]
        assignee = rng.choice(self.staff) if matter.board == "site" and rng.random() < 0.4 else None
        old = (self.now - last).days > 400
        self.db.execute(
            "UPDATE forum_thread SET status = ?, assignee_id = ?, locked = ?, updated_at = ?"
            " WHERE id = ?",
            status,
            assignee,
            int(old and rng.random() < 0.2),
            moment(last),
            thread,
        )
        if matter.label and rng.random() < 0.6:
            self.db.insert("forum_label", thread_id=thread, label=matter.label)

    def _post(self, thread: int, author: int, body: str, at: datetime, **more: Any) -> int:
        values = {"thread_id": thread, "author_id": author, "body": body, "status": "visible"}
        return int(self.db.insert("forum_post", **values | more, created_at=moment(at)))

    def _said(self, texts: tuple[str, ...], facts: dict[str, str]) -> str:
        return self.rng.choice(texts).format(**facts)

    def _flags(self) -> None:
        """Write bad posts; most were hidden, some are still waiting, and some reports are wrong."""
        rng = self.rng
        threads = self.db.all(
            "SELECT id, updated_at FROM forum_thread WHERE locked = 0 AND board_id > 1 ORDER BY id"
        )
        for thread in rng.sample(threads, 70):
            reason = rng.choice(("spam", "insult", "private"))
            who = rng.choice(self.members)
            texts = {"spam": SPAM, "insult": RUDE, "private": PRIVATE}[reason]
            facts = {"kind": rng.choice(_KINDS), "digits": str(rng.randint(100, 999))}
            facts |= {"given": self.given[who], "town": rng.choice(_TOWNS)}
            at = min(time_of(thread["updated_at"]) + timedelta(hours=rng.randint(1, 40)), self.now)
            hidden = rng.random() < 0.8
            more = {"status": "hidden", "reason": reason} if hidden else {}
            post = self._post(thread["id"], who, self._said(texts, facts), at, **more)
            self._flag(post, reason, "upheld" if hidden else "open", at)
        plain = self.db.all(
            "SELECT id, created_at FROM forum_post WHERE status = 'visible' ORDER BY id"
        )
        for post in rng.sample(plain, 40):
            status = rng.choices(("rejected", "open"), (80, 20))[0]
            reason = rng.choice(("off-topic", "insult", "other"))
            self._flag(post["id"], reason, status, time_of(post["created_at"]))

    def _flag(self, post: int, reason: str, status: str, at: datetime) -> None:
        after = min(at + timedelta(minutes=self.rng.randint(5, 900)), self.now)
        values = {"post_id": post, "user_id": self.rng.choice(self.members), "reason": reason}
        decided = {} if status == "open" else {"decided_by": self.rng.choice(self.staff)}
        self.db.insert("forum_flag", **values, status=status, **decided, created_at=moment(after))

    def _drafts(self) -> None:
        """Leave texts that were begun and never published."""
        threads = self.db.column("SELECT id FROM forum_thread WHERE locked = 0 ORDER BY id")
        nora = self.db.value("SELECT id FROM forum_user WHERE handle = 'nora_w'")
        for who in [nora, *self.rng.sample(self.members[1:], 45)]:
            values: dict[str, Any] = {"thread_id": self.rng.choice(threads)}
            if self.rng.random() < 0.4:
                board = self.boards[self.rng.choice(("help", "wishes", "home"))]
                values = {"board_id": board, "title": self.rng.choice(("Question", "", "An idea"))}
            body = self.rng.choice(("I think that", "Has anyone tried", "We have the same and"))
            self.db.insert(
                "forum_draft",
                user_id=who,
                **values,
                body=f"{body} ",
                updated_at=_before(self.service, self.rng, 200),
            )
