"""Adds shares of a folder and of minutes, with former and present colleagues."""

_SHARES = (
    (415, "lin.stein@fairlead.example", "editor", "2024-11-04T09:20:00Z", None),
    (357, "amelie.becker@fairlead.example", "viewer", "2026-01-12T15:05:00Z", None),
    (418, "lena.almeida@fairlead.example", "editor", "2026-02-09T11:30:00Z", None),
    (
        357,
        "kofi.petersen@fairlead.example",
        "viewer",
        "2026-01-12T15:06:00Z",
        "2026-06-30T16:00:00Z",
    ),
)


def change(context):
    """Enter the shares with their dates."""
    for item, grantee, role, when, until in _SHARES:
        context.db.insert(
            "files_share",
            item_id=item,
            grantee=grantee,
            role=role,
            granted_by="erik.pinto@fairlead.example",
            granted_at=when,
            expires_at=until,
        )
