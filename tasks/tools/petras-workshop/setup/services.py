"""The article on guests, and a meeting of others in the room that Petra wants."""

ARTICLE = """## Rooms
Guests are received in Alfama or Belém, never in Tagus. A room that is taken is taken: we
neither ask nor move those who have it.

## Time
Between 9:30 and 17:30 in Lisbon, and 90 minutes at most: after that the air is gone.

## The invitation
- The title begins with *Visit:*, so that the front desk sees it, followed by what it is and for
  whom. There is no description: guests take that for minutes.
- Stefan Patel is invited, too. He opens the door.
- It is one meeting. When it changes, it is changed: guests do not get a cancellation and a new
  invitation.

## What we tell people who ask for a visit
Of the saved replies, greet, thank, say sorry and ask questions as you like. For everything else,
use only these sentences, so that we make no promise by mistake:

- With guests it can be 90 minutes at most.
- It is in the calendar: DAY, TIME to TIME, in ROOM.
- ROOM is taken on DAY.
- ROOM is free on DAY, with NUMBER seats.
- I cannot do that: who has a room keeps it.
- Stefan Patel is invited, too: he opens the door.
- Invited: NAMES.
- NAME is no longer invited.
- The rule holds for all."""


def change(context):
    """Write both."""
    article = context.call(
        "knowledge_create",
        title="Guests in Lisbon",
        body=ARTICLE,
        category="office",
        owner="stefan.patel@fairlead.example",
        review_on="2026-12-31",
        tags=["lisbon", "visitors"],
    )
    context.call("knowledge_publish", article=article["id"])
    _date(context, article["id"], "stefan.patel@fairlead.example", "2025-12-15T11:16:09Z")
    context.call(
        "calendar_create",
        title="Contract templates",
        start="2026-03-05T13:00:00Z",
        end="2026-03-05T16:00:00Z",
        people=[43, 48],
        room=6,
        timezone="Europe/Lisbon",
        organizer=47,
    )


def _date(context, article, author, when):
    """Let an article be as old as it would be."""
    context.db.execute(
        "UPDATE knowledge_article SET created_at = ?1, updated_at = ?1 WHERE id = ?2", when, article
    )
    context.db.execute(
        "UPDATE knowledge_version SET saved_at = ?1, author = ?2 WHERE article_id = ?3",
        when,
        author,
        article,
    )
