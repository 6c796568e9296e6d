"""The files of long work that is resumed: lines that only grow, and a report.

Its folder may come from a stranger, as that of a run may: no link in it is followed, and what is no
regular file is refused.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from agentgym.record.folder import RunFolder

_MOST_BYTES: Final = 1 << 30


class ResultFiles:
    """Reads and writes the files of one folder.

    Args:
        folder: The folder, which is made if it is absent.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._files = RunFolder(folder)

    def path(self, name: str) -> Path:
        """Return the path of a file, to name it in a message."""
        return self._files.path / name

    def lines(self, name: str) -> list[str]:
        """Return the whole lines of a file, and take off one that a kill has cut; it may be absent.

        Raises:
            OSError: It cannot be read.
            RecordError: It is no regular file, or too large.
        """
        if self._files.find(name, to_write=True) is None:
            return []
        data = self._files.read(name, _MOST_BYTES)
        size = data.rfind(b"\n") + 1
        if size != len(data):
            with open(self._files.open_to_write(name), "r+b") as file:
                file.truncate(size)
        # Not `splitlines`: a JSON text may hold other ends of lines, such as U+2028.
        return data[:size].decode("utf-8", "replace").split("\n")[:-1]

    def add(self, name: str, line: str) -> None:
        """Write a line at the end of a file, which is made if it is absent.

        Raises:
            OSError: It cannot be written.
            RecordError: It is no regular file.
        """
        with open(self._files.open_to_write(name), "r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(f"{line}\n".encode("utf-8", "backslashreplace"))

    def replace(self, name: str, text: str) -> None:
        """Write a file, in place of whatever has its name.

        Raises:
            OSError: It cannot be written.
            RecordError: A folder on its path is a link.
        """
        with self._files.replacing(name) as file:
            file.write(text.encode("utf-8", "backslashreplace"))

    def make(self, name: str) -> Path:
        """Make a folder, if it is absent, and return its path.

        Raises:
            OSError: It cannot be made.
            RecordError: It is a link, or is below one.
        """
        return self._files.make(name)
