"""The members of a club."""

from guild.errors import GuildError
from guild.member import Member
from guild.members import Members
from guild.store import open_store

__all__ = ["GuildError", "Member", "Members", "open_store"]
