"""Online files of the tasks, in a local folder that the user gives. Nothing is downloaded."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

from agentgym.errors import TaskError
from agentgym.manifest import show_path
from agentgym.regular_file import read_regular

_MOST_BYTES: Final = 512 * 2**20
_MARKS: Final = ("/resolve/main/", "/resolve/master/", "/raw/main/")


@dataclass(frozen=True)
class LocalFiles:
    """A folder with online files.

    A file is looked for, in this order: at its path in the repository that its address names (a
    clone of the data set), at host and path of its address, at its path, at ``TASK/NAME``, and
    under the names of OSWorld's own cache of downloads.

    Attributes:
        folder: The folder, absolute; None if the user gave none.
    """

    folder: Path | None

    def find(self, url: str, task: str) -> Path | None:
        """Return the local copy of an online file; None without one.

        Args:
            url: Its address.
            task: Id of the task that needs it.
        """
        if self.folder is None:
            return None
        for place in _places(url, task):
            parts = PurePosixPath(place).parts
            if not parts or ".." in parts or place.startswith("/"):
                continue
            path = self.folder.joinpath(*parts)
            try:
                if path.is_file():
                    return path
            except (OSError, ValueError):
                continue  # no file of this machine has such a name
        return None

    def read(self, url: str, task: str) -> bytes:
        """Return the content of an online file.

        Raises:
            TaskError: There is no local copy, or it cannot be read.
        """
        path = self.find(url, task)
        if path is None:
            where = f"in {show_path(self.folder)}" if self.folder else "because no folder is given"
            raise TaskError(
                f"OSWorld task {task!r}: no local copy of {url}, {where}; import the suite again "
                "with --files DIR"
            )
        try:
            return read_regular(path, _MOST_BYTES)
        except OSError as error:
            raise TaskError(f"{show_path(path)}: {error.strerror or error}") from None


def _places(url: str, task: str) -> Iterator[str]:
    parts = urlsplit(url)
    path = unquote(parts.path)
    for mark in _MARKS:
        if mark in path:
            yield path.partition(mark)[2]
    yield f"{parts.netloc}{path}"
    yield path.lstrip("/")
    name = os.path.basename(path)
    yield f"{task}/{name}"
    yield f"{task}/{uuid.uuid5(uuid.NAMESPACE_URL, url)}_{name}"
