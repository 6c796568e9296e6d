"""Records which connections this process tries to make while an episode is played and graded.

It uses a hook for Python's audit events (PEP 578), which no library can bypass. The processes that
checks run in have such a hook as well and report to this one. It does not see the connections of a
program that a check starts in a process of its own; clean rooms have no network.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from contextvars import ContextVar

from agentgym.verify.worker.contacts import contact_of

_heard: ContextVar[list[str] | None] = ContextVar("heard", default=None)


@contextlib.contextmanager
def listening() -> Iterator[list[str]]:
    """Collect the hosts that code in this context, or in threads that inherit it, connects to.

    Unix sockets and loopback addresses stay on this machine and are left out.
    """
    _install()
    heard: list[str] = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


@functools.cache
def _install() -> None:
    # A hook cannot be removed: there is only one, and it acts only while a context listens.
    sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    # While the interpreter ends, the module's names are gone before its hook is.
    heard = _heard.get() if _heard is not None else None
    if heard is None:
        return
    host = contact_of(event, arguments)
    if host is not None:
        heard.append(host)
