"""Which package brings a command that a task needs, in Debian's and Ubuntu's names."""

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
"""Where the package is not named as the command is."""


def install_command(commands: Iterable[str]) -> str:
    """Return the command that installs what is missing."""
    packages = {_PACKAGES.get(command, command) for command in commands}
    return f"apt-get install {' '.join(sorted(packages))}"
