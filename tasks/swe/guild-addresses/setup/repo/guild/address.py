"""E-mail addresses."""

import re

from guild.errors import GuildError

_ADDRESS = re.compile(r"[^@\s,;]+@[^@\s,;]+\.[^@\s,;.]+")


def is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


def checked(text: str) -> str:
    """Return an address without the spaces around it; empty for none.

    Raises:
        GuildError: It is no address.
    """
    text = text.strip()
    if text and not is_address(text):
        raise GuildError(f"no e-mail address: {text!r}")
    return text
