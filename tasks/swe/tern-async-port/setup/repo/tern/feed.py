"""Feeds: lists of items."""

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Item:
    url: str
    name: str


class FeedError(Exception):
    """A feed cannot be read."""


def host_of(url: str) -> str:
    return urlsplit(url).netloc.lower()


def read_feed(data: bytes) -> list[Item]:
    """Return the items of a feed in its order, each URL once.

    Raises:
        FeedError: Names the line that is wrong.
    """
    found: dict[str, Item] = {}
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError:
        raise FeedError("not UTF-8") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        url, _, name = line.strip().partition(" ")
        if not host_of(url) or not name or "/" in name or name.startswith("."):
            raise FeedError(f"line {number}: expected URL NAME, got {line.strip()!r}")
        found.setdefault(url, Item(url, name))
    return list(found.values())
