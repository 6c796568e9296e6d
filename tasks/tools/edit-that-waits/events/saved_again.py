"""The author adds to the unpublished edit and tells no one about it."""


def change(context):
    """Save another version of the article."""
    case = context.params["case"]
    number = case["article"]
    last, body = context.db.all(
        "SELECT number, body FROM knowledge_version WHERE article_id = ?"
        " ORDER BY number DESC LIMIT 1",
        number,
    )[0].values()
    context.call(
        "knowledge_edit",
        article=number,
        body=body.replace(case["ask_old"], case["ask"]),
        seen_version=last,
    )
    context.db.execute(
        "UPDATE knowledge_version SET author = ? WHERE article_id = ? AND number = ?",
        case["mail"],
        number,
        last + 1,
    )
