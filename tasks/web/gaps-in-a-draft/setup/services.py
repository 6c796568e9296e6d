"""Leaves two drafts of Nora's: the one that is meant, and one about another colour."""


def change(context):
    """Write both."""
    item = context.params["item"]
    for colour, thread in ((item["colour"], item["thread"]), ("mint", item["thread"] - 1)):
        body = (
            f"We have the {item['title']} in {colour} and like it. The article number is [number],"
            " and today it costs [price]."
        )
        context.db.insert(
            "forum_draft",
            user_id=1,
            thread_id=thread,
            body=body,
            updated_at="2026-03-01T19:44:00Z",
        )
