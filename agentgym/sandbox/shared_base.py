"""The base layer of the host recipe, built once for all stores of a user and linked into each.

The layer has hundreds of symbolic links, such as those of /etc/ssl/certs. To make each of them
anew with its owner and its times takes ten times as long as to link to it. A guest sees their
numbers of links, which `agentgym.record.volatile` masks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from agentgym.sandbox.hostroot import build_host_layer, host_layer_name
from agentgym.sandbox.layers.size import size
from agentgym.sandbox.runtime import runtimes_dir


def link_host_layer(target: Path, owner: int) -> None:
    """Write the base layer into a new folder; its symbolic links are those of the shared layer.

    Args:
        target: The layer folder; it must not exist yet.
        owner: Numeric user and group that guest root is mapped to.
    """
    shared = runtimes_dir() / f"{host_layer_name()}-{owner}"
    shared.parent.mkdir(parents=True, exist_ok=True)
    # The lock also keeps the layer from being removed while it is linked.
    with _sole_builder(shared.parent):
        if not shared.is_dir():
            draft = shared.with_name(f".{shared.name}")
            shutil.rmtree(draft, ignore_errors=True)  # left by a process that was killed
            build_host_layer(draft, owner)
            os.rename(draft, shared)
        _link(str(shared), str(target))


def remove_old_host_layers() -> int:
    """Remove the shared layers of other versions of the host's files; return the bytes that freed.

    No store needs them, because every store has its own links.
    """
    current, freed = host_layer_name(), 0
    for layer in runtimes_dir().glob("host-*-*"):
        if layer.name.rpartition("-")[0] != current:
            with _sole_builder(layer.parent):
                freed += size(str(layer))
                shutil.rmtree(layer, ignore_errors=True)
    return freed


@contextlib.contextmanager
def _sole_builder(folder: Path) -> Iterator[None]:
    with open(folder / "host.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _link(source: str, target: str) -> None:
    os.mkdir(target)
    with os.scandir(source) as entries:
        for entry in entries:
            path = os.path.join(target, entry.name)
            if entry.is_dir(follow_symlinks=False):
                _link(entry.path, path)
            elif not entry.is_symlink() or not _linked(entry.path, path):
                # Files are copied: a guest sees how many names a file has.
                shutil.copy2(entry.path, path, follow_symlinks=False)
                _give(entry.path, path)
    _give(source, target)
    shutil.copystat(source, target)


def _linked(source: str, target: str) -> bool:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system, or one without links
        return False
    return True


def _give(source: str, target: str) -> None:
    info = os.lstat(source)
    if info.st_uid != os.getuid():
        os.chown(target, info.st_uid, info.st_gid, follow_symlinks=False)
