"""Limits of one quarantined command: its processes, its memory and the disk that it writes to.

Processes are limited for its user id (prlimit(1)). Memory is limited where a control group can be
made. The disk is looked at while the command runs.
"""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
from collections.abc import Sequence
from typing import Final

from agentgym.records import Limits
from agentgym.sandbox.control_group import ControlGroup

_PIDS: Final = 8_192
_MEMORY_SHARE: Final = 0.75
_RESERVE_BYTES: Final = 2**30
_RESERVE_SHARE: Final = 0.25
"""Share of what was free that is left free on a small disk."""


class QuarantineLimits:
    """The limits of one command; close them after its end.

    Args:
        cache: The folder that it writes to.
    """

    def __init__(self, cache: str) -> None:
        self._cache = cache
        self._reserve = min(_RESERVE_BYTES, int(shutil.disk_usage(cache).free * _RESERVE_SHARE))
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        limits = Limits(memory_mb=int(memory * _MEMORY_SHARE) >> 20, pids=_PIDS)
        name = f"{os.getpid()}-untrusted-{secrets.token_hex(4)}"
        self._group = ControlGroup.create(name, limits)

    def around(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs a command under the limits."""
        files = () if self._group is None else self._group.member_files
        joins = "".join(f"echo 0 > {shlex.quote(str(file))} && " for file in files)
        limited = ["prlimit", f"--nproc={_PIDS}", "--", *command]
        return ["/bin/sh", "-c", f'{joins}exec "$@"', "sh", *limited]

    def complaint(self) -> str:
        """Return why the command has to end now, or an empty text."""
        if shutil.disk_usage(self._cache).free >= self._reserve:
            return ""
        return "it was ended, because the disk of this machine is almost full"

    def close(self) -> None:
        """Release everything; all processes of the command have ended."""
        if self._group is not None:
            self._group.remove()
