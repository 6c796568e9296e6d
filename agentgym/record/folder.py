"""Opens the files of a run folder so that a folder from a stranger cannot reach outside itself.

A run folder may come from anybody. A link or a special file in it could make a command read or
overwrite files elsewhere. So every file of a run is opened here: below the folder no link is
followed, only regular files are opened, a file to be written must have no second name (a hard
link), and new files are created under fresh names (``O_EXCL``) and renamed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from agentgym.errors import RecordError

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_KINDS: Final = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class RunFolder:
    """Opens the files of one run folder.

    Names are relative to the folder, with ``/`` between their parts. The path of the folder itself
    comes from the user and may go through links.

    Args:
        path: The run folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def find(self, name: str, *, to_write: bool = False) -> os.stat_result | None:
        """Return the status of a file, None if the file does not exist.

        Args:
            name: Name of the file.
            to_write: Whether it will be changed in place; then it must have no second name.

        Raises:
            OSError: A folder on the path cannot be entered.
            RecordError: The file is not a regular file, or its path has a link.
        """
        try:
            with self._parent(name) as (parent, last):
                return self._look(parent, name, last, to_write=to_write)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read(self, name: str, limit_bytes: int) -> bytes:
        """Return the content of a file.

        Args:
            name: Name of the file.
            limit_bytes: Largest size of a sound file.

        Raises:
            FileNotFoundError: The file does not exist.
            OSError: The file cannot be read.
            RecordError: The file is not a regular file or too large, or its path has a link.
        """
        with self._parent(name) as (parent, last):
            self._look(parent, name, last)
            with open(self._open(parent, name, last, os.O_RDONLY), "rb") as file:
                data = file.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise RecordError(
                f"{self.path / name} is larger than the {limit_bytes} bytes that such a file of a "
                "run can have; it is damaged or was made to exhaust the memory"
            )
        return data

    def open_to_write(self, name: str) -> int:
        """Return a descriptor to read and write a file, which is created if absent.

        Raises:
            OSError: The file cannot be opened.
            RecordError: The file is not regular or has a second name, or its path has a link.
        """
        with self._parent(name) as (parent, last):
            with contextlib.suppress(FileNotFoundError):
                self._look(parent, name, last, to_write=True)
            return self._open(parent, name, last, os.O_RDWR | os.O_CREAT, to_write=True)

    @contextlib.contextmanager
    def replacing(self, name: str, *, drafts: str = "") -> Iterator[BinaryIO]:
        """Write a file atomically: readers see the old file or the whole new one.

        Missing folders on the path are created. The write replaces an existing entry of this name:
        if that is a link, its target stays unchanged.

        Args:
            name: Name of the file.
            drafts: Folder that holds the file until it is whole.

        Raises:
            OSError: The file cannot be written; the old file still exists.
            RecordError: The path has a link.
        """
        draft = f".{secrets.token_hex(8)}.part"
        with (
            self._parent(f"{drafts}/{draft}" if drafts else draft, make=True) as (place, _),
            self._parent(name, make=True) as (parent, last),
        ):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(draft, flags, 0o644, dir_fd=place)
            try:
                with open(file, "wb") as stream:
                    yield stream
                os.replace(draft, last, src_dir_fd=place, dst_dir_fd=parent)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(draft, dir_fd=place)
                raise

    def remove(self, name: str) -> None:
        """Remove a file, a link or a special file; it may be absent.

        Raises:
            OSError: The file cannot be removed.
            RecordError: The path has a link.
        """
        with contextlib.suppress(FileNotFoundError), self._parent(name) as (parent, last):
            os.unlink(last, dir_fd=parent)

    def make(self, name: str) -> Path:
        """Make a folder and those above it, if they are absent; return its path.

        Raises:
            OSError: It cannot be made.
            RecordError: It is a link, or is below one.
        """
        with self._parent(f"{name}/.", make=True):
            return self.path / name

    def hidden(self, folder: str) -> list[str]:
        """Return the names in a folder that begin with a dot: drafts of a killed writer.

        Raises:
            OSError: The folder is absent or cannot be read.
            RecordError: The path has a link.
        """
        with self._parent(f"{folder}/.") as (parent, _), os.scandir(parent) as entries:
            return [f"{folder}/{entry.name}" for entry in entries if entry.name.startswith(".")]

    # --- opening ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def _parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder of a file; yield its descriptor and the last part of the name."""
        *parts, last = name.split("/")
        folder = os.open(self.path, _FOLDER)
        try:
            for depth, part in enumerate(parts, 1):
                inner = self._enter(folder, "/".join(parts[:depth]), part, make)
                os.close(folder)
                folder = inner
            yield folder, last
        finally:
            os.close(folder)

    def _enter(self, folder: int, name: str, part: str, make: bool) -> int:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
        try:
            return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        except NotADirectoryError:
            if stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
                raise self._refusal(name, "a symbolic link") from None
            raise

    def _look(self, parent: int, name: str, last: str, *, to_write: bool = False) -> os.stat_result:
        seen = os.stat(last, dir_fd=parent, follow_symlinks=False)
        self._judge(name, seen, to_write)
        return seen

    def _open(
        self, parent: int, name: str, last: str, flags: int, *, to_write: bool = False
    ) -> int:
        # Without O_NONBLOCK a FIFO in the file's place would block until its other end opens.
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        file = os.open(last, flags, 0o644, dir_fd=parent)
        try:
            self._judge(name, os.fstat(file), to_write)
        except BaseException:
            os.close(file)
            raise
        return file

    def _judge(self, name: str, seen: os.stat_result, to_write: bool) -> None:
        if not stat.S_ISREG(seen.st_mode):
            raise self._refusal(name, _KINDS.get(stat.S_IFMT(seen.st_mode), "a special file"))
        if to_write and seen.st_nlink > 1:
            raise RecordError(
                f"{self.path / name} is also linked from elsewhere ({seen.st_nlink} hard links), "
                "and writing to it would change that file; copy the run folder and use the copy"
            )

    def _refusal(self, name: str, kind: str) -> RecordError:
        return RecordError(
            f"{self.path / name} is {kind}; a run folder holds regular files only, and nothing "
            "else in it is opened: remove it, or do not use this run"
        )
