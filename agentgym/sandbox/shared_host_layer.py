"""The base layer around the host's /usr, written once for all stores of a user.

It has hundreds of files, so each store links to them and makes only its own folders.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from agentgym.sandbox.hostroot import build_host_layer, host_layer_name
from agentgym.sandbox.layer_size import size
from agentgym.sandbox.runtime import runtimes_dir, sole_builder


def link_host_layer(target: Path, owner: int) -> None:
    """Write the base layer into a new folder, with links to the one in `runtimes_dir`.

    Args:
        target: The layer folder; it must not exist yet.
        owner: Numeric user and group that guest root is mapped to.
    """
    shared = runtimes_dir() / f"{host_layer_name()}-{owner}"
    try:
        _write(shared, owner)
        _link(str(shared), str(target), owner)
    except OSError:
        # Another file system, or a folder that this user may not write to.
        shutil.rmtree(target, ignore_errors=True)
        build_host_layer(target, owner)


def remove_old_host_layers() -> int:
    """Remove other versions from `runtimes_dir` and return the bytes that freed."""
    freed = 0
    for layer in runtimes_dir().glob("host-*"):
        if not layer.name.startswith(f"{host_layer_name()}-"):
            with sole_builder(runtimes_dir()):
                freed += size(str(layer))
                shutil.rmtree(layer, ignore_errors=True)
    return freed


def _write(shared: Path, owner: int) -> None:
    if shared.is_dir():
        return
    shared.parent.mkdir(parents=True, exist_ok=True)
    with sole_builder(shared.parent):
        if not shared.is_dir():
            draft = shared.with_name(f".{shared.name}")
            shutil.rmtree(draft, ignore_errors=True)
            build_host_layer(draft, owner)
            os.rename(draft, shared)


def _link(source: str, target: str, owner: int) -> None:
    os.mkdir(target)
    with os.scandir(source) as entries:
        for entry in entries:
            there = os.path.join(target, entry.name)
            if entry.is_dir(follow_symlinks=False):
                _link(entry.path, there, owner)
            else:
                os.link(entry.path, there, follow_symlinks=False)
    if owner != os.getuid():
        os.chown(target, owner, owner)
    shutil.copystat(source, target)  # permissions, times and extended attributes
