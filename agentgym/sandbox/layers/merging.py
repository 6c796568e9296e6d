"""Merges overlay layers into one that is equivalent over any base.

A merged layer takes no more of the disk than its layers: holes stay holes, and hard links links.
Otherwise a guest could write little, and have a copy of its files fill the disk.

Standard library only, because it also runs in a child inside a user namespace (see
`operations.py`).
"""

from __future__ import annotations

import errno
import os
import shutil
import stat

from agentgym.sandbox.layers.holes import copy_with_holes
from agentgym.sandbox.layers.removal import remove
from agentgym.sandbox.layers.stack import OPAQUE, is_opaque, is_real_dir, is_whiteout


def squash(layers: list[str], target: str, opaque: str = OPAQUE) -> None:
    """Merge layers (topmost first) into one new layer that is equivalent over any base."""
    os.mkdir(target, 0o755)
    # Files with several names, by their inode: a table on the disk, because a guest can make more
    # of them than memory should hold.
    links = f"{target}.links"
    for layer in reversed(layers):
        try:
            _apply(layer, target, opaque, links)
        finally:
            remove(links)
    shutil.copystat(layers[0], target)


def _apply(layer: str, onto: str, opaque: str, links: str) -> None:
    """Put one layer over another, in the other's folder."""
    # By level: source, target, and names of folders that are still to be applied. A guest can make
    # so many folders that a list of all their paths would fill the memory.
    levels = [(layer, onto, _apply_entries(layer, onto, opaque, links))]
    while levels:
        source, target, names = levels[-1]
        if names:
            name = names.pop()
            inner, to = f"{source}/{name}", f"{target}/{name}"
            levels.append((inner, to, _apply_entries(inner, to, opaque, links)))
        else:
            levels.pop()
            # Last and deepest first, because writing into a directory changes its times.
            if levels:
                _copy_metadata(source, target, os.lstat(source))


def _apply_entries(source: str, target: str, opaque: str, links: str) -> list[str]:
    """Put the entries of one folder over another; return the names of its folders."""
    folders = []
    with os.scandir(source) as entries:
        for entry in entries:
            info = entry.stat(follow_symlinks=False)
            to = f"{target}/{entry.name}"
            if stat.S_ISDIR(info.st_mode):
                _apply_dir(entry.path, to, opaque)
                folders.append(entry.name)
            else:
                _apply_file(entry.path, to, info, links)
    return folders


def _apply_dir(source: str, to: str, attribute: str) -> None:
    opaque = is_opaque(source, attribute)
    if opaque or not is_real_dir(to):
        hid = opaque or os.path.lexists(to)
        remove(to)
        os.mkdir(to)
        if hid:
            os.setxattr(to, attribute, b"y")


def _apply_file(source: str, to: str, info: os.stat_result, links: str) -> None:
    remove(to)
    if stat.S_ISREG(info.st_mode):
        first = f"{links}/{info.st_ino}"
        if info.st_nlink > 1 and _link(first, to):
            return
        copy_with_holes(source, to)
        if info.st_nlink > 1:
            os.makedirs(links, exist_ok=True)
            remove(first)
            os.link(to, first)
    elif stat.S_ISLNK(info.st_mode):
        os.symlink(os.readlink(source), to)
    else:
        os.mknod(to, info.st_mode, info.st_rdev)
    _copy_metadata(source, to, info)


def _link(first: str, to: str) -> bool:
    """Give a file that was copied another name; return whether there is one that can have it."""
    try:
        os.link(first, to)
    except OSError as error:
        # A file has a largest number of names, and the table holds one more.
        if error.errno in (errno.ENOENT, errno.EMLINK):
            return False
        raise
    return True


def _copy_metadata(source: str, target: str, info: os.stat_result) -> None:
    os.chown(target, info.st_uid, info.st_gid, follow_symlinks=False)
    if stat.S_ISLNK(info.st_mode) or is_whiteout(info):
        return
    shutil.copystat(source, target, follow_symlinks=False)
    os.chmod(target, stat.S_IMODE(info.st_mode))
