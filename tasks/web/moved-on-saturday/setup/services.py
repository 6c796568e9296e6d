"""Moves threads on Saturday, with a log that knows where they were, and much besides."""

import json

OTHERS = ("repairs", "wishes", "site", "help", "home", "swap")
WRONG, PUT_RIGHT, NOISE = 15, 2, 60


def change(context):
    """Draw the threads and write the log of two months."""
    db, rng = context.db, context.rng
    boards = {row["slug"]: row["id"] for row in db.all("SELECT slug, id FROM forum_board")}
    people = db.all("SELECT id, handle FROM forum_user WHERE role <> 'member' ORDER BY id")
    staff = {row["handle"]: row["id"] for row in people}
    into, who = context.params["into"]["slug"], staff[context.params["who"]["handle"]]
    rest = [number for number in staff.values() if number != who]
    threads = db.column(
        "SELECT id FROM forum_thread WHERE board_id IN (2, 3, 4, 5) AND merged_into IS NULL"
        " ORDER BY id"
    )
    drawn = iter(rng.sample(threads, 90))
    sources = [slug for slug in OTHERS if slug != into]
    log, back = [], {}

    def moved(day, by, thread, slug):
        at = f"{day}T{rng.randint(7, 20):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}Z"
        log.append((at, by, f"moved to {slug}", f"thread {thread}"))
        db.execute("UPDATE forum_thread SET board_id = ? WHERE id = ?", boards[slug], thread)

    for place in range(WRONG):
        thread, home = next(drawn), "help"
        if place % 5:
            # Some were moved twice before: the later move counts.
            if place % 2:
                moved(
                    f"2026-01-{rng.randint(10, 28)}", rng.choice(rest), thread, rng.choice(sources)
                )
            home = rng.choice(sources)
            moved(f"2026-02-{rng.randint(10, 27)}", rng.choice([*rest, who]), thread, home)
        moved("2026-02-28", who, thread, into)
        back[thread] = boards[home]
    for _ in range(PUT_RIGHT):
        thread = next(drawn)
        moved("2026-02-11", rng.choice(rest), thread, "repairs")
        moved("2026-02-28", who, thread, into)
        moved("2026-03-01", rng.choice(rest), thread, "wishes")
    moved("2026-02-28", rest[0], next(drawn), into)
    moved("2026-02-27", who, next(drawn), into)
    moved("2026-03-01", who, next(drawn), into)
    moved("2026-02-28", who, next(drawn), "wishes")
    for _ in range(NOISE):
        by, day = rng.choice([*rest, who]), f"2026-0{rng.randint(1, 2)}-{rng.randint(10, 28)}"
        what = rng.choice(("status done", "status answered", "pinned", "locked"))
        log.append((f"{day}T06:{rng.randint(10, 59)}:00Z", by, what, f"thread {next(drawn)}"))
    for at, by, what, target in sorted(log):
        db.insert("forum_log", user_id=by, what=what, target=target, created_at=at)
    context.gold("back.json", json.dumps(back))
