"""Writes the game of this year and that of the last; the nearest guesses are not valid."""

import json

SAID = ("I say {n}.", "{n}!", "My guess: {n}", "Easy. {n}.", "{n}, if the jar is full to the top.")
NUMBER_OF_GUESSES = 27


def change(context):
    """Draw the guesses, and among them traps that are nearer than the winner."""
    db, rng, params = context.db, context.rng, context.params
    thing, number, last = params["thing"], params["number"], params["until"]["day"]
    members = db.column("SELECT id FROM forum_user WHERE role = 'member' AND id > 9 ORDER BY id")
    people = rng.sample(members, NUMBER_OF_GUESSES + 3)
    _thread(db, thing, people[-3], "2025-02-20T10:00:00Z", "done")
    old = db.value("SELECT max(id) FROM forum_thread")
    for place, who in enumerate(rng.sample(people, 5)):
        _post(db, old, who, f"I say {number + 40 * place}.", f"2025-02-2{place}T11:00:00Z")
    game = _thread(db, thing, 2, "2026-02-23T08:00:00Z", "open")
    # Days and distances; the first of each pair of equals wins.
    days = [f"2026-02-{day}" for day in range(23, int(last[-2:]) + 1)]
    gap = rng.randint(9, 12)
    sides = rng.sample((1, -1), 2)
    guesses = [
        (_at(rng, rng.choice(days[1:-1])), who, number + sides[0] * rng.randint(30, 190), {})
        for who in people[:18]
    ]
    winner, second, edited, hidden, late, twice = people[18:24]
    guesses.append((f"{days[1]}T09:{rng.randint(10, 59)}:00Z", winner, number + sides[0] * gap, {}))
    guesses.append((f"{last}T23:{rng.randint(10, 58)}:00Z", second, number + sides[1] * gap, {}))
    guesses.append(
        (_at(rng, days[1]), edited, number + sides[1] * 2, {"edited_at": f"{last}T23:59:30Z"})
    )
    guesses.append(
        (_at(rng, days[2]), hidden, number - 4, {"status": "hidden", "reason": "Insult"})
    )
    after = "2026-02-28" if last.endswith("27") else "2026-03-01"
    guesses.append((f"{after}T00:0{rng.randint(1, 9)}:00Z", late, number + 1, {}))
    guesses.append((f"{days[0]}T10:{rng.randint(10, 59)}:00Z", twice, number + 77, {}))
    guesses.append((_at(rng, days[2]), twice, number - 3, {}))
    guesses.append((_at(rng, days[2]), 4, number, {}))
    for at, who, guess, more in sorted(guesses, key=lambda each: each[0]):
        _post(db, game, who, rng.choice(SAID).format(n=guess), at, **more)
    handle = db.value("SELECT handle FROM forum_user WHERE id = ?", winner)
    context.gold("winner.json", json.dumps({"thread": game, "handle": handle}))


def _at(rng, day):
    return f"{day}T{rng.randint(10, 22):02}:{rng.randint(10, 59)}:{rng.randint(10, 59)}Z"


def _thread(db, thing, author, at, status):
    number = db.insert(
        "forum_thread",
        board_id=1,
        author_id=author,
        title=f"How many {thing} are in the jar?",
        status=status,
        created_at=at,
        updated_at=at,
    )
    _post(db, number, author, f"A jar full of {thing} stands in the store. How many are they?", at)
    return number


def _post(db, thread, author, body, at, **more):
    values = {"status": "visible", **more, "created_at": at}
    db.insert("forum_post", thread_id=thread, author_id=author, body=body, **values)
