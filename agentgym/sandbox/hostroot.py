"""The lowest layers: a generated /etc and empty folders, around /usr or below an image.

A start binds the host's /usr read-only; this layer holds only the other files that programs need.
It copies nothing of the host's home, its users or its secrets: this module names each file of
/etc that it copies.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

from agentgym.sandbox.layers.stack import OPAQUE

_VERSION = "2"
_FOLDERS = (
    *("dev", "etc", "home", "media", "mnt", "opt", "proc", "run", "srv", "sys", "usr/local/bin"),
    *("usr/local/lib", "usr/local/sbin", "usr/local/share", "var/cache", "var/lib", "var/log"),
    *("var/mail", "var/spool"),
)
_MODES = {"root": 0o700, "tmp": 0o1777, "var/tmp": 0o1777}
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\n"
    "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\ndaemon:x:1:\nadm:x:4:\nstaff:x:50:\nwww-data:x:33:\n"
    "nogroup:x:65534:\n",
    "etc/hostname": "sandbox\n",
    "etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\n",
    "etc/resolv.conf": "",
    "etc/timezone": "Etc/UTC\n",
    "etc/shells": "/bin/sh\n/bin/bash\n",
    "etc/profile": "umask 022\n",
    "etc/bash.bashrc": "",
}
_LINKS = {
    "etc/localtime": "/usr/share/zoneinfo/Etc/UTC",
    "etc/os-release": "../usr/lib/os-release",
    "etc/mtab": "../proc/self/mounts",
    "var/run": "/run",
    "var/lock": "/run/lock",
}
_FOUNDATION = (
    *(("dev", 0o755), ("etc", 0o755), ("mnt", 0o755), ("proc", 0o755), ("root", 0o700)),
    ("run", 0o755),
    *(("sys", 0o755), ("tmp", 0o1777), ("etc/hostname", 0o644), ("etc/hosts", 0o644)),
    ("etc/resolv.conf", 0o644),
)
# Public configuration that programs below /usr expect.
_FROM_HOST = (
    *("alternatives", "ca-certificates.conf", "debian_version", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "lsb-release", "magic", "magic.mime", "mime.types", "perl", "protocols"),
    *("python3", "rpc", "services", "ssl/certs", "ssl/openssl.cnf"),
)


def host_layer_name() -> str:
    """Return a name that changes with the files that the base layer copies from the host."""
    digest = hashlib.sha256(_VERSION.encode())
    for name in _FROM_HOST:
        # Every episode needs this, so use os.stat, and only once.
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            info = os.stat(f"/etc/{name}")
            digest.update(f"{name} {info.st_mtime_ns} {info.st_size}".encode())
    digest.update(repr((_FOLDERS, _MODES, _FILES, _LINKS)).encode())
    return f"host-{digest.hexdigest()[:12]}"


def build_host_layer(target: Path, owner: int) -> None:
    """Write the base layer into a new folder.

    Args:
        target: The layer folder; it must not exist yet.
        owner: Numeric user and group that guest root is mapped to.
    """
    target.mkdir(mode=0o755)
    for name in (*_FOLDERS, *_MODES):
        (target / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if Path("/", name).is_symlink():
            (target / name).symlink_to(os.readlink(f"/{name}"))
    for name, text in _FILES.items():
        (target / name).write_text(text)
    for name, link in _LINKS.items():
        (target / name).symlink_to(link)
    for name in _FROM_HOST:
        _copy_public(Path("/etc", name), target / "etc" / name)
    for name, mode in _MODES.items():
        (target / name).chmod(mode)
    # The host's own /usr/local stays hidden, also from readers of the layers.
    os.setxattr(target / "usr/local", OPAQUE, b"y")
    _hand_over(target, owner)


def foundation_name() -> str:
    """Return a name that changes with the layer below every image."""
    return f"root-{hashlib.sha256(repr(_FOUNDATION).encode()).hexdigest()[:12]}"


def build_foundation(target: Path, owner: int) -> None:
    """Write the layer below every image: the paths that a start needs, for images without them.

    Args:
        target: The layer folder; it must not exist yet.
        owner: Numeric user and group that guest root is mapped to.
    """
    target.mkdir(mode=0o755)
    for name, mode in _FOUNDATION:
        path = target / name
        if name in _FILES:
            path.write_text(_FILES[name])
        else:
            path.mkdir()
        path.chmod(mode)
    _hand_over(target, owner)


def _hand_over(target: Path, owner: int) -> None:
    """Give a layer to its owner, with fixed times."""
    for folder, folders, files in os.walk(target, topdown=False):
        for name in (*folders, *files, "."):
            path = os.path.join(folder, name)
            if owner != os.getuid():
                os.chown(path, owner, owner, follow_symlinks=False)
            os.utime(path, (0, 0), follow_symlinks=False)


def _copy_public(source: Path, target: Path) -> None:
    """Copy a file or folder of /etc without files that are not readable for all users."""
    if not source.exists() or not source.stat().st_mode & 0o004:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, ignore=_private, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)


def _private(folder: str, names: list[str]) -> set[str]:
    hidden = set()
    for name in names:
        info = os.lstat(os.path.join(folder, name))
        if not info.st_mode & 0o004:
            hidden.add(name)
    return hidden
