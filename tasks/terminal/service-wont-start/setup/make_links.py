"""Fill a linkd 2.3 database (schema 6) with a company's short links; keep the list as gold."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import sys
from pathlib import Path

TEAMS = ("hr", "it", "sales", "legal", "infra", "design", "finance", "support", "data", "office")
TOPICS = (
    *("handbook", "oncall", "budget", "roadmap", "retro", "holidays", "onboarding", "wiki"),
    *("dashboard", "travel", "expenses", "tickets", "metrics", "offsite", "allhands", "forms"),
)
HOSTS = (
    "wiki.corp.example",
    "docs.corp.example",
    "git.corp.example",
    "grafana.corp.example",
    "drive.example.com",
)
OWNERS = ("mkovac", "ldubois", "aokafor", "tnguyen", "psilva", "jhansen", "rpatel", "eberg")


def main() -> None:
    rng = random.Random("service-wont-start")
    database = sqlite3.connect(sys.argv[1])
    database.executescript(
        """
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        INSERT INTO meta VALUES ('schema', '6'), ('created', '2023-05-11');
        CREATE TABLE links (
            slug TEXT PRIMARY KEY, target TEXT NOT NULL, owner TEXT NOT NULL,
            created TEXT NOT NULL, hits INTEGER NOT NULL DEFAULT 0
        );
        """
    )
    links = {}
    for slug in sorted(f"{team}-{topic}" for team in TEAMS for topic in TOPICS):
        if rng.random() < 0.1:
            continue
        day = f"202{rng.randint(3, 5)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
        url = f"https://{rng.choice(HOSTS)}/{slug.replace('-', '/')}?v={rng.randint(1, 999)}"
        links[slug] = (url, rng.choice(OWNERS), day, rng.randint(0, 4_000))
        database.execute("INSERT INTO links VALUES (?, ?, ?, ?, ?)", (slug, *links[slug]))
    database.commit()
    database.close()
    (Path(os.environ["AGENTGYM_GOLD"]) / "links.json").write_text(json.dumps(links, indent=1))


main()
