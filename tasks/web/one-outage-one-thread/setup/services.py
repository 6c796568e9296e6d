"""Adds threads of the last days about one outage, and others that only sound like it."""

AUTHORS = (14, 31, 47, 58, 73, 96, 110, 131)
TEXTS = {
    "payment": (
        (
            "Cannot order",
            "I get to the last step of the checkout and then the wheel turns for ever.",
        ),
        ("Stuck!!", "Everything fine until the last step. Then a white page. Tried three times."),
        (
            "Payment",
            "The button in the last step does nothing. My money is still here, so is the basket.",
        ),
        ("is it only me", "Ordering works up to the last step and there it hangs since Saturday."),
        ("Shop hangs", "Checkout, last step: it says 'one moment' and the moment does not end."),
    ),
    "pictures": (
        ("No pictures", "All products stay grey boxes here, on two computers."),
        ("Grey boxes", "The search works but the pictures stay grey. Is that a new design?"),
        ("is it only me", "Since Saturday the photos stay grey, even after waiting."),
        ("Photos!!", "I cannot see what I buy, they stay grey on the phone as well."),
        ("Cannot see anything", "Names and prices are there, the photos stay grey."),
    ),
    "mails": (
        ("No mail", "Ordered on Saturday, paid, and there is no confirmation in my inbox."),
        ("Where is the mail?", "The confirmation never came, not in the spam folder either."),
        ("is it only me", "Two orders, no confirmation. They are in my list of orders, though."),
        ("Order without a mail", "I wait for the confirmation since Sunday morning."),
        ("Mails", "My husband got a confirmation on Friday, I got none on Saturday."),
    ),
}
OTHERS = (
    (
        "Stuck in the checkout",
        "My voucher is refused and I cannot go on. It is the one for newcomers.",
    ),
    ("Colours look grey", "The navy blanket looks rather grey at home. Do you see that, too?"),
    ("Too many mails", "I get three letters with offers a week. How do I end that?"),
)


def change(context):
    """Write them in an order that is drawn."""
    texts = [*TEXTS[context.params["outage"]["name"]], *OTHERS]
    context.rng.shuffle(texts)
    for place, (author, (title, body)) in enumerate(zip(AUTHORS, texts, strict=True)):
        at = f"2026-03-01T{8 + place:02}:{10 + 3 * place}:00Z"
        thread = context.db.insert(
            "forum_thread",
            board_id=5,
            author_id=author,
            title=title,
            status="open",
            created_at=at,
            updated_at=at,
        )
        context.db.insert(
            "forum_post",
            thread_id=thread,
            author_id=author,
            body=body,
            status="visible",
            created_at=at,
        )
