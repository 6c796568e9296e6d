"""Seeded articles of a knowledge base that has grown for years.

The data has flaws: a rule told twice with different figures, the older one still published;
reviews long overdue; articles whose owner has left; unfinished drafts; edits never published.
"""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from agentgym.services import Service, moment, time_of

from .topics import CATEGORIES, PRODUCT_TOPICS, TOPICS

_TEAMS = {"hr": "People", "finance": "Finance", "it": "IT", "sales": "Sales",
          "support": "Support", "office": "Management", "product": "Product"}  # fmt: skip
_SECTIONS = (
    ("Why", "So that everybody is treated alike and nobody has to ask twice."),
    ("Who to ask", "Ask {team}, or write to {owner}."),
    ("Exceptions", "Exceptions are agreed in writing by {team} before, not after."),
    ("Changes", "Reworked in {year}; the rules before that no longer hold."),
)
_AGAIN = ("{title} - guide", "{title} (new)", "FAQ: {title}", "How we do it: {title}", "{title}")


def fill(service: Service, rng: random.Random) -> None:
    """Fill the tables of an empty knowledge base."""
    people = service.db.all("SELECT * FROM contacts_person WHERE kind = 'colleague' ORDER BY id")
    products = service.db.column("SELECT DISTINCT product FROM tickets_ticket ORDER BY 1")
    for name, title in CATEGORIES.items():
        service.db.insert("knowledge_category", id=name, title=title)
    topics = [(c, title, rule) for c, found in TOPICS.items() for title, rule in found]
    for product in products:
        topics += [("product", t.format(product=product), r) for t, r in PRODUCT_TOPICS]
    topics += [("support", "When tickets are due", _due_times(service))]
    for category, title, rule in topics:
        team = [p for p in people if p["department"] == _TEAMS[category]]
        figures = _figures(rng)
        first = _article(service, rng, category, title, rule, figures, team, rng.randint(300, 900))
        for _ in range(rng.choices([0, 1, 2], [3, 4, 2])[0]):
            # A second author uses other figures, and seldom archives the first article.
            figures = _figures(rng) if rng.random() < 0.7 else figures
            name = rng.choice(_AGAIN).format(title=title)
            again = _article(service, rng, category, name, rule, figures, team, rng.randint(5, 290))
            if again["status"] == "published" and rng.random() < 0.35:
                service.db.execute(
                    "UPDATE knowledge_article SET status = 'archived', replaced_by = ?"
                    " WHERE id = ?",
                    again["id"],
                    first["id"],
                )
        if rng.random() < 0.5:
            name = f"{title} {rng.choice([2022, 2023, 2024])}"
            _article(service, rng, category, name, rule, _figures(rng), team, 900, "archived")


def _due_times(service: Service) -> str:
    """Return the help desk's due times by plan and priority, as in its tickets."""
    hours = service.db.all(
        "SELECT c.plan, t.priority,"
        " min(round((julianday(t.due_at) - julianday(t.created_at)) * 24)) AS hours"
        " FROM tickets_ticket t JOIN tickets_customer c ON c.id = t.customer_id"
        " GROUP BY c.plan, t.priority ORDER BY c.plan, hours"
    )
    lines: dict[str, list[str]] = {}
    for row in hours:
        lines.setdefault(row["plan"], []).append(f"{row['priority']} {row['hours']:.0f} h")
    return "\n".join(f"- {plan}: {', '.join(due)}" for plan, due in lines.items())


def _figures(rng: random.Random) -> dict[str, int]:
    return {
        "n": rng.choice([5, 7, 10, 12, 14, 21, 28, 30, 45, 60]),
        "small": rng.randint(2, 6),
        "hour": rng.randint(8, 11),
        "sum": rng.choice([45, 60, 80, 95, 110, 120, 150, 180]),
    }


def _article(
    service: Service,
    rng: random.Random,
    category: str,
    title: str,
    rule: str,
    figures: dict[str, int],
    team: list[dict[str, Any]],
    age_days: int,
    status: str = "",
) -> dict[str, Any]:
    owner = rng.choice(team)["email"]
    status = status or rng.choices(["published", "draft"], [9, 1])[0]
    made = time_of(service.now) - timedelta(days=age_days, minutes=rng.randint(1, 500))
    count = rng.choices([1, 2, 3], [5, 3, 1])[0]
    pending = status == "published" and count > 1 and rng.random() < 0.25
    # A draft may never have been published; the others are, at most one version behind.
    shown = None if status == "draft" else count - pending
    latest = time_of(service.now) - timedelta(minutes=30)
    times = [moment(min(made + timedelta(days=20 * k), latest)) for k in range(count)]
    due = made + timedelta(days=rng.choice([180, 365, 365, 730]))
    number = service.db.insert(
        "knowledge_article",
        title=title,
        category=category,
        owner=owner,
        status=status,
        version=count,
        published_version=shown,
        created_at=times[0],
        updated_at=times[-1],
        review_on=moment(due)[:10],
    )
    sections = rng.sample(_SECTIONS, rng.randint(1, 3))
    slots = {"team": _TEAMS[category], "owner": owner, "year": made.year}
    extra = "".join(f"\n\n## {head}\n{text.format(**slots)}" for head, text in sections)
    for version, when in enumerate(times, 1):
        told = figures if version == count else {**figures, "n": figures["n"] + 2 * version}
        service.db.insert(
            "knowledge_version",
            article_id=number,
            number=version,
            title=title,
            body=f"## Rule\n{rule.format(**told)}{extra}",
            author=rng.choice(team)["email"],
            saved_at=when,
            note="" if version == 1 else rng.choice(["figures", "wording", "after review"]),
        )
    for tag in sorted({category, title.split(":")[0].split()[0].lower().strip("(")}):
        if tag.isalpha() and tag.isascii():
            service.db.insert("knowledge_tag", article_id=number, tag=tag)
    return {"id": number, "status": status}
