"""Members that are there twice."""

from guild.errors import GuildError
from guild.member import Member
from guild.members import Members


def duplicates(members: Members) -> list[list[Member]]:
    """Return groups of members that share an address, by their first numbers."""
    groups: dict[str, list[Member]] = {}
    for member in members.all():
        if member.email:
            groups.setdefault(member.email.casefold(), []).append(member)
    return [group for group in groups.values() if len(group) > 1]


def merge(members: Members, number: int, other: int) -> Member:
    """Make a member part of another one, whose fields count where both have one."""
    if number == other:
        raise GuildError("a member cannot be merged with itself")
    kept, gone = members.get(number), members.get(other)
    notes = [note for note in (kept.note, gone.note) if note]
    members.remove(other)
    return members.update(
        number,
        email=kept.email or gone.email,
        joined=min(day for day in (kept.joined, gone.joined, "9999-12-31") if day)
        if kept.joined or gone.joined
        else "",
        note="\n".join(notes),
    )
