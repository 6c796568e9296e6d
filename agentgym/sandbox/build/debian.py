"""A reproducible Debian system, made from packages by debootstrap.

Standard library only: this runs in the namespace of a build, see `build_namespace.py`.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
from urllib.parse import urlsplit

from . import host_network

_PUBLIC = "http://deb.debian.org/debian"
_PUBLIC_SECURITY = "http://deb.debian.org/debian-security"
# Traces of the installation: logs with the time of day, caches, device nodes, package lists.
_TRACES = (
    *("dev/*", "tmp/*", "run/*", "var/log/*.log", "var/log/apt/*", "var/cache/apt/*.bin"),
    *("var/cache/apt/archives/*.deb", "var/lib/apt/lists/*", "var/cache/ldconfig/aux-cache"),
    *("var/cache/debconf/*-old", "var/lib/dpkg/*-old", "etc/machine-id"),
)


def bootstrap(root: str, suite: str, variant: str, mirror: str) -> int:
    """Run debootstrap and return its status.

    Args:
        root: An empty folder.
        suite: E.g. ``bookworm``.
        variant: E.g. ``minbase``.
        mirror: Source of the packages; empty: the source of this machine's packages.
    """
    own = [address for address, name, _ in host_network.host_sources(suite) if name == suite]
    # Force the check of signatures: by default debootstrap only warns if the key is missing.
    argv = ["debootstrap", "--force-check-gpg", f"--variant={variant}", suite, root]
    if source := mirror or next(iter(own), ""):
        argv.append(source)
    # debootstrap needs tools in folders that a user's PATH may lack.
    env = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    return subprocess.run(argv, env=env, stderr=subprocess.STDOUT, check=False).returncode


def tidy(root: str, suite: str, mirror: str) -> None:
    """Remove what depends on this machine or on the time."""
    for pattern in _TRACES:
        for path in glob.glob(f"{root}/{pattern}"):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
    _write(f"{root}/etc/resolv.conf", "")
    _write(f"{root}/etc/hostname", "sandbox\n")
    _write(f"{root}/etc/apt/sources.list", _sources(suite, mirror))


def _sources(suite: str, mirror: str) -> str:
    address = mirror or _PUBLIC
    lines = [f"deb {address} {suite} main\n"]
    if urlsplit(address).path.rstrip("/").endswith("/debian") and suite not in ("sid", "unstable"):
        security = address.rstrip("/") + "-security" if mirror else _PUBLIC_SECURITY
        lines.append(f"deb {address} {suite}-updates main\n")
        lines.append(f"deb {security} {suite}-security main\n")
    return "".join(lines)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
