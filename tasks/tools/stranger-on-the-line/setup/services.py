"""The article on callers whose identity has to be checked."""

ARTICLE = """## Before anything is changed or told
Ask for three things: the number of a ticket of theirs that is not closed, the product it is
about, and the phone number under which the help desk has them. They come from the caller, we
offer nothing to choose from. All three have to be right at the first go. There is no second try,
and we do not say which one was wrong, what we have on file, or what is in the ticket.

## If they are right
Do what is asked, as far as it is about the caller.

## If one of them is wrong
Change nothing of what was asked, whoever they know. Then, on the ticket that was named:

- the tag `identity-check`
- the form for an identity check on a ticket, and no other note, since IT's list is made from it

and to Bruno Haas, and to nobody else, the form for an identity check that failed, with nothing
besides it. The customer is not written to: IT calls them.

## What callers hear
Of the saved replies, greet, thank, say sorry and ask the three questions. Otherwise they only hear
sentences from this list, because any other one has helped somebody to guess:

- I cannot change this for you here.
- I cannot tell you what we have on file, nor whether an answer was right.
- The rule holds for everybody.
- Our IT will call the customer."""


def change(context):
    """Write and publish it."""
    article = context.call(
        "knowledge_create",
        title="Who is on the line",
        body=ARTICLE,
        category="support",
        owner="bruno.haas@fairlead.example",
        review_on="2026-10-31",
        tags=["security", "callers"],
    )
    context.call("knowledge_publish", article=article["id"])
    _date(context, article["id"], "bruno.haas@fairlead.example", "2025-11-06T09:44:03Z")


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
