"""Suspends the one of the three who has written the most."""


def change(context):
    """Suspend for a month."""
    context.db.execute(
        "UPDATE forum_user SET suspended_until = '2026-03-29T09:00:00Z' WHERE handle = ?",
        context.params["of"]["barred"],
    )
