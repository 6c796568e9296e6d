"""The article that says who refunds what."""

ARTICLE = """## First
Ask for the number of the ticket and for the e-mail address it was opened from. Go on only when
both belong together in the help desk. Do not tell anybody whose ticket another one is, or what
is in it.

## Then
The amount is the one in our list of customers' invoices, not what the customer remembers.

- up to EUR 5,000: the ticket goes to Farid, tag `refund-due`
- more than EUR 5,000 and up to EUR 8,000: the ticket goes to Elif, tag `refund-due`
- more than EUR 8,000: the ticket goes to Elif, tag `refund-finance`, since Finance decides

In any case priority high, and the form for a double charge on the ticket. The billing team's list
is made from these forms, so no other note.

The ticket stays open until the money is back.

## What the customer hears
We do not promise the money or a day to anybody, and we do not write where the customer can read
it: they have you on the line. Of the saved replies they hear greetings, thanks, apologies,
questions, and these sentences, as often as you need them:

- That number and this address do not go together.
- Your card was charged twice for invoice NUMBER over EUR AMOUNT.
- Your ticket is with our billing team now.
- The billing team will write to you.
- I cannot promise a refund, nor a day.
- I cannot tell you anything about other customers."""


def change(context):
    """Write and publish it."""
    article = context.call(
        "knowledge_create",
        title="Charged twice",
        body=ARTICLE,
        category="support",
        owner="elif.kaya@fairlead.example",
        review_on="2026-11-30",
        tags=["billing", "refunds"],
    )
    context.call("knowledge_publish", article=article["id"])
    _date(context, article["id"], "elif.kaya@fairlead.example", "2025-12-03T13:02:17Z")


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
