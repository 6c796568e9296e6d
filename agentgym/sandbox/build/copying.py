"""Files put into an image, and the accounts they may belong to.

The caller has made the image the root of this process. Account files are read as text: the C
library would load code of the image. Standard library only: see `build_namespace.py`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tarfile
from dataclasses import dataclass

from .tarlayer import TIME


@dataclass(frozen=True)
class Account:
    """The account of a command: its ids and its home."""

    uid: int
    gid: int
    home: str
    groups: list[int]


def place(
    archive: tarfile.TarFile, target: str, inside: bool, owner: str, mode: int | None
) -> None:
    """Write the members of an archive into the image.

    Args:
        archive: The files with their modes; a folder precedes its content.
        target: Absolute path; a folder if it ends with a slash or names a folder.
        inside: Whether members go below the target even if it does not exist yet.
        owner: ``user``, ``user:group`` by name or number, or empty: root.
        mode: Mode of every file; None: the mode in the archive.
    """
    where = os.path.realpath(target)
    into = inside or target.endswith("/") or os.path.isdir(where)
    who = account(owner or "root")
    _make_folders(where if into else os.path.dirname(where), who)
    for member in archive:
        path = os.path.join(where, member.name) if into else where
        if member.isdir():
            _make_folders(path, who)
            os.chmod(path, member.mode if mode is None else mode | (mode & 0o444) >> 2)
            continue
        _make_folders(os.path.dirname(path), who)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        if member.issym():
            os.symlink(member.linkname, path)
        else:
            content = archive.extractfile(member)
            assert content is not None
            with open(path, "wb") as file:
                shutil.copyfileobj(content, file)
        os.chown(path, who.uid, who.gid, follow_symlinks=False)
        if not member.issym():
            os.chmod(path, member.mode if mode is None else mode)
        os.utime(path, (TIME, TIME), follow_symlinks=False)


def _make_folders(path: str, who: Account) -> None:
    if not os.path.isdir(path):
        _make_folders(os.path.dirname(path), who)
        os.mkdir(path, 0o755)
        os.chown(path, who.uid, who.gid)


def account(text: str) -> Account:
    """Return the account of ``user`` or ``user:group`` in this root.

    Raises:
        ValueError: The user or group does not exist.
    """
    user, _, group = text.partition(":")
    entry = _entry("/etc/passwd", user)
    if entry is not None:
        uid, gid, home = int(entry[2]), int(entry[3]), entry[5]
    elif user == "root" or user.isdigit():
        uid, gid, home = (0, 0, "/root") if user == "root" else (int(user), 0, "/")
    else:
        raise ValueError(f"no user {user!r} in the image's /etc/passwd")
    name = entry[0] if entry else user
    if group:
        found = _entry("/etc/group", group)
        if found is None and not group.isdigit():
            raise ValueError(f"no group {group!r} in the image's /etc/group")
        gid = int(found[2] if found else group)
    more = [int(line[2]) for line in _lines("/etc/group", 4) if name in line[3].split(",")]
    return Account(uid, gid, home or "/", sorted({gid, *more}))


def _entry(path: str, wanted: str) -> list[str] | None:
    fields = 7 if path == "/etc/passwd" else 4
    return next((line for line in _lines(path, fields) if wanted in (line[0], line[2])), None)


def _lines(path: str, fields: int) -> list[list[str]]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip("\n").split(":") for line in file]
    except OSError:
        return []
    return [line for line in lines if len(line) == fields and line[2].isdigit()]
