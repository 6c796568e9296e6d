"""Mirrors feeds."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tern.errors import Busy, Missing, RequestError
from tern.feed import FeedError, Item, host_of, read_feed
from tern.files import complete_file
from tern.settings import Settings
from tern.state import State
from tern.transport import Transport


@dataclass
class Report:
    """The result of a mirror: URLs in the order of the feeds and of their items.

    Attributes:
        fetched: Items that are new.
        known: Items that were there before, or that a feed before has.
        failed: Feeds and items that failed, with the reason.
        tries: Number of requests.
    """

    fetched: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    tries: int = 0


def mirror(
    transport: Transport, folder: Path, feeds: Sequence[str], settings: Settings = Settings()
) -> Report:
    """Fetch all feeds and the items that are not there yet.

    Raises:
        Fatal: Nothing can go on. What was fetched stays.
    """
    return _Mirror(transport, Path(folder), settings).run(feeds)


class _Mirror:
    def __init__(self, transport: Transport, folder: Path, settings: Settings) -> None:
        self._transport, self._folder, self._settings = transport, folder, settings
        self._state = State(folder)
        self._report = Report()
        self._seen: set[str] = set()

    def run(self, feeds: Sequence[str]) -> Report:
        try:
            for feed in feeds:
                self._feed(feed)
                self._state.save()
        finally:
            self._state.save()
        return self._report

    def _feed(self, feed: str) -> None:
        try:
            items = read_feed(self._get(feed))
        except (RequestError, FeedError) as error:
            self._report.failed.append((feed, str(error)))
            return
        for item in items:
            self._item(item)

    def _item(self, item: Item) -> None:
        if item.url in self._state or item.url in self._seen:
            self._report.known.append(item.url)
            return
        self._seen.add(item.url)
        try:
            data = self._get(item.url)
        except RequestError as error:
            self._report.failed.append((item.url, str(error)))
            return
        file = f"{host_of(item.url).replace(':', '_')}/{item.name}"
        with complete_file(self._folder / file) as out:
            out.write(data)
        self._state.add(item.url, file)
        self._report.fetched.append(item.url)

    def _get(self, url: str) -> bytes:
        """Return a body, with as many tries as there are pauses, and one."""
        for pause in (*self._settings.pauses, None):
            self._report.tries += 1
            try:
                return self._transport.get(url)
            except Missing:
                raise
            except RequestError as error:
                if pause is None:
                    raise
                after = error.after_s if isinstance(error, Busy) else None
            self._transport.sleep(pause if after is None else after)
        raise AssertionError("the last try returns or raises")
