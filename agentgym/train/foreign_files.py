"""Refuses files of a stranger's model or checkpoint that would stop or fill the process.

A reader waits for ever at a FIFO, and an archive may unpack to any size. Ours never do either.
"""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path
from typing import BinaryIO, Final

from agentgym.errors import ConfigError

_MOST: Final = 10_000


def refuse_special_files(folder: Path) -> None:
    """Look at every name below a model's folder.

    Raises:
        ConfigError: Something is neither a file nor a folder, or there are too many names.
    """
    waiting, count = [str(folder)], 0
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError as error:
            raise ConfigError(f"{folder} cannot be read: {error}") from error
        count += len(entries)
        if count > _MOST:
            raise ConfigError(f"{folder}: more than {_MOST} files")
        for entry in entries:
            if _kind(entry.path) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise ConfigError(f"{entry.path!r:.300} is neither a file nor a folder")
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def refuse_bomb(archive: zipfile.ZipFile) -> None:
    """Refuse an archive with members that are larger in memory than in the file.

    Raises:
        ValueError: A member is compressed, or several share their bytes.
    """
    members = archive.infolist()
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{member.filename[:80]!r} is compressed")
    places = {member.header_offset for member in members}
    if len(places) != len(members):
        raise ValueError("several of its members share their bytes")


def refuse_no_checkpoint(file: BinaryIO) -> None:
    """Refuse what `torch.save` did not write; `torch.load` can then read the same open file.

    Raises:
        ValueError: It is no archive, or would unpack to more than its size.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            refuse_bomb(archive)
    except zipfile.BadZipFile as error:
        raise ValueError(str(error)) from error
    file.seek(0)


def _kind(name: str) -> int:
    """Return the kind of what a name leads to; 0 for a link to nothing."""
    try:
        return stat.S_IFMT(os.stat(name).st_mode)
    except OSError:
        return 0
