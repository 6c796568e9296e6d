"""Notes which containers somebody else than their guests ended: the daemon, or a user of it.

A guest may end its own first process, for example by running out of memory, and is judged as it
then stands. A daemon that is stopped or started again ends every container, and no guest can
cause that. The daemon tells both apart by its events (Docker Engine API, "Monitor events").
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Protocol


class EventStream(Protocol):
    """A stream of events, as the Docker SDK returns it."""

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """Yield events until the daemon or this process ends the stream."""
        ...

    def close(self) -> None:
        """End the stream."""
        ...


class DaemonWatch:
    """Follows the events of a daemon in a thread.

    Args:
        stream: Its events of the kind ``kill``.
    """

    def __init__(self, stream: EventStream) -> None:
        self._stream = stream
        self._killed: set[str] = set()
        self._has_ended = False
        self._thread = threading.Thread(target=self._follow, name="docker events", daemon=True)
        self._thread.start()

    def has_ended(self, container: str) -> bool:
        """Return whether the daemon, or a user of it, ended a container of this process."""
        return self._has_ended or container in self._killed

    def close(self) -> None:
        """End the stream; a second call does nothing."""
        with contextlib.suppress(Exception):
            self._stream.close()

    def _follow(self) -> None:
        from docker.errors import DockerException
        from requests import RequestException
        from urllib3.exceptions import HTTPError

        with contextlib.suppress(DockerException, RequestException, HTTPError, OSError, ValueError):
            for event in self._stream:
                self._killed.add(str(event.get("id", "")))
        self._has_ended = True
