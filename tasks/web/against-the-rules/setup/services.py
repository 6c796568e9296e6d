"""Leaves the two drafts; the moderators have warned Nora before."""


def change(context):
    """Write them."""
    draft = context.params["draft"]
    texts = (
        (draft["title"], draft["text"]),
        ("Which oil for oak?", "We have bought an oak shelf and"),
    )
    for place, (title, body) in enumerate(texts):
        context.db.insert(
            "forum_draft",
            user_id=1,
            board_id=7,
            title=title,
            body=body,
            updated_at=f"2026-03-01T2{place}:12:00Z",
        )
