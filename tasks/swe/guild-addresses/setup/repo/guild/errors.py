"""Errors that users are told."""


class GuildError(Exception):
    """A message of one line."""
