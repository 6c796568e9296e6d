"""Names of the Debian and Ubuntu packages that contain the commands tasks need."""

from __future__ import annotations

from collections.abc import Iterable

_PACKAGES = {
    "awk": "mawk",
    "cc": "gcc",
    "crontab": "cron",
    "getfacl": "acl",
    "gunzip": "gzip",
    "nc": "netcat-openbsd",
    "ps": "procps",
    "setfacl": "acl",
    "ss": "iproute2",
    "stat": "coreutils",
    "xz": "xz-utils",
    "zcat": "gzip",
}
"""Packages whose name differs from that of the command."""


def install_command(commands: Iterable[str]) -> str:
    """Return the shell command that installs missing commands."""
    packages = {_PACKAGES.get(command, command) for command in commands}
    return f"apt-get install {' '.join(sorted(packages))}"
