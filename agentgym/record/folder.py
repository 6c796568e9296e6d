"""The files of a run folder, opened so that a folder from a stranger cannot reach outside itself.

A run folder may come from anybody, and a link or a special file in it would have a command read or
overwrite what lies elsewhere. So every file of a run is opened here: no link is followed below the
folder, only regular files are opened, a file that is written has no second name (a hard link), and
new files are made under fresh names (``O_EXCL``) and renamed.
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

    Names are relative to the folder, their parts divided by ``/``. The path of the folder itself
    is the user's and may go through links.

    Args:
        path: The run folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def find(self, name: str, *, to_write: bool = False) -> os.stat_result | None:
        """Return what is known of a file, None if there is none.

        Args:
            name: Which one.
            to_write: Whether it will be changed in place: then it may have no second name.

        Raises:
            OSError: A folder on the way to it cannot be entered.
            RecordError: It is no regular file, or is reached through a link.
        """
        try:
            with self._parent(name) as (parent, last):
                return self._look(parent, name, last, to_write=to_write)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read(self, name: str, limit_bytes: int) -> bytes:
        """Return the content of a file.

        Args:
            name: Which one.
            limit_bytes: The most that a sound file has.

        Raises:
            FileNotFoundError: There is none.
            OSError: It cannot be read.
            RecordError: It is no regular file, is reached through a link, or is too large.
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
        """Return a descriptor to read and write a file, which is made if it is absent.

        Raises:
            OSError: It cannot be opened.
            RecordError: It is no regular file, has a second name, or is reached through a link.
        """
        with self._parent(name) as (parent, last):
            with contextlib.suppress(FileNotFoundError):
                self._look(parent, name, last, to_write=True)
            return self._open(parent, name, last, os.O_RDWR | os.O_CREAT, to_write=True)

    @contextlib.contextmanager
    def replacing(self, name: str, *, drafts: str = "") -> Iterator[BinaryIO]:
        """Write a file in one move: readers see the old file or the whole new one.

        Folders on the way to it are made. What is there already under the name is replaced, not
        written to: if it is a link, its target stays as it is.

        Args:
            name: Which one.
            drafts: The folder that has the file until it is whole.

        Raises:
            OSError: It cannot be written; the old file is still there.
            RecordError: It would be reached through a link.
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
            OSError: It cannot be removed.
            RecordError: It is reached through a link.
        """
        with contextlib.suppress(FileNotFoundError), self._parent(name) as (parent, last):
            os.unlink(last, dir_fd=parent)

    def hidden(self, folder: str) -> list[str]:
        """Return the names in a folder that begin with a dot: drafts that a killed writer left.

        Raises:
            OSError: The folder is absent or cannot be read.
            RecordError: It is reached through a link.
        """
        with self._parent(f"{folder}/.") as (parent, _), os.scandir(parent) as entries:
            return [f"{folder}/{entry.name}" for entry in entries if entry.name.startswith(".")]

    # --- opening ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def _parent(self, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder a file is in; yield its descriptor and the last part of the name."""
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
        # Without O_NONBLOCK a FIFO that took the file's place would wait for its other end.
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
