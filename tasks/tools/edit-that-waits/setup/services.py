"""Writes the published version and the unpublished edit."""


def change(context):
    """Replace the text of both versions."""
    case = context.params["case"]
    number, author = case["article"], case["mail"]
    for version, exceptions, note in (
        (case["public"], case["exception"], ""),
        (case["waiting"], case["undecided"], "Exceptions: not decided yet!"),
    ):
        body = (
            f"## Rule\n{case['rule_old']}\n\n## Exceptions\n{exceptions}\n\n"
            f"## Who to ask\n{case['ask_old']}"
        )
        context.db.execute(
            "UPDATE knowledge_version SET body = ?, note = ?, author = ?"
            " WHERE article_id = ? AND number = ?",
            body,
            note,
            author,
            number,
            version,
        )
