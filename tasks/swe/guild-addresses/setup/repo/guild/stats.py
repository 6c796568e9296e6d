"""Numbers about members."""

from guild.members import Members


def stats(members: Members) -> dict[str, int]:
    """Return counts by what they count."""
    everybody = members.all()
    active = [member for member in everybody if member.is_active]
    return {
        "members": len(active),
        "left": len(everybody) - len(active),
        "without address": sum(not member.email for member in active),
    }
