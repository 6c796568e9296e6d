"""The recipients of mailings."""

from guild.members import Members


def recipients(members: Members) -> list[str]:
    """Return the addresses of all active members by number; no address twice."""
    found: dict[str, str] = {}
    for member in members.all():
        if member.is_active and member.email:
            found.setdefault(member.email.casefold(), member.email)
    return list(found.values())
