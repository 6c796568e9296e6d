"""Records the machines that a worker's checks try to reach and reports them with each result.

It hooks Python's own audit events (PEP 578), so no library can connect unnoticed.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterable

HEARD = "agentgym.contact"
"""The audit event that the host raises for a machine that a worker contacted."""

_CONNECTING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_RESOLVING = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})


class Contacts:
    """Collects the machines that this process contacts."""

    def __init__(self) -> None:
        self._heard: list[str] = []
        sys.addaudithook(self._hear)

    def take(self) -> list[str]:
        """Return the machines that were contacted since the last call."""
        heard, self._heard = self._heard, []
        return heard

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith("socket."):
            host = contact_of(event, arguments)
            if host is not None:
                self._heard.append(host)


def tell_hooks(hosts: Iterable[str]) -> None:
    """Raise `HEARD` for each contact of a worker; audit hooks in this process receive it."""
    for host in hosts:
        sys.audit(HEARD, host)


def contact_of(event: str, arguments: tuple[object, ...]) -> str | None:
    """Return the machine that an audit event contacts; None for this machine or another event."""
    host = arguments[0] if event == HEARD or event in _RESOLVING else None
    if event in _CONNECTING:
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) and address else None
    if not isinstance(host, str | bytes):
        return None
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    return None if _is_local(name) else name


def _is_local(name: str) -> bool:
    if name in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return False
