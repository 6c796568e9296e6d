"""/etc/hostname of a Docker container: a file of the host that is mounted over the container's.

Docker mounts a file of its own over this path in any case, with the container's name in it. So
agentgym mounts a copy of the image's file, and reads it back as if it were part of the container's
layer.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tarfile
from pathlib import Path

from agentgym.sandbox.docker.allowance import Allowance
from agentgym.sandbox.docker.layer import add_file
from agentgym.sandbox.layers.changes import compare
from agentgym.sandbox.layers.stack import TRUSTED_OPAQUE, Stack

HOSTNAME = "/etc/hostname"


class MountedHostname:
    """The file of one container.

    Args:
        path: Where it lies on the host. Nothing is there for an image without a regular file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def copy_from(self, folders: list[str]) -> list[str]:
        """Copy the file of an image with these layers, and return the mounts to make (or none)."""
        self._path.unlink(missing_ok=True)
        found = Stack(folders, opaque=TRUSTED_OPAQUE).lookup(HOSTNAME, follow=False)
        if found is None or not stat.S_ISREG(found[1].st_mode):
            return []
        shutil.copyfile(found[0][0], self._path)
        shutil.copymode(found[0][0], self._path)
        return [f"{self._path}:{HOSTNAME}"]

    def size(self) -> int:
        """Return its size on the disk in bytes; the guest can write to it."""
        with contextlib.suppress(FileNotFoundError):
            return self._path.stat().st_blocks * 512
        return 0

    def over(self) -> dict[str, str]:
        """Return the paths inside that it hides, with where they lie on the host."""
        return {HOSTNAME: str(self._path)} if self._path.exists() else {}

    def difference(self, folders: list[str]) -> str:
        """Return how it differs from that of an image with these layers: a kind of change or ""."""
        if not self._path.exists():
            return ""
        before = Stack(folders, opaque=TRUSTED_OPAQUE).lookup(HOSTNAME, follow=False)
        return compare(before, ([str(self._path)], os.lstat(self._path)))

    def add_to(self, archive: tarfile.TarFile, allowance: Allowance) -> None:
        """Add it to the archive of a layer."""
        add_file(archive, self._path, HOSTNAME.lstrip("/"), allowance)
