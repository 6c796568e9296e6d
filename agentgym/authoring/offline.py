"""Hears which connections this process tries to make while an episode is played and graded.

A hook of Python's own audit events (PEP 578): no library can connect past it. The processes that
checks run in have one as well, and what they hear is told here. What a program started by a check
does in a process of its own is not heard; clean rooms have no network.
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
    """Collect the hosts that are asked for in this context, and in threads that take it over.

    Unix sockets and the loopback stay on this machine and are left out.
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
    # Hooks cannot be taken away again: there is one, and it only looks where somebody listens.
    sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    heard = _heard.get()
    if heard is None:
        return
    host = contact_of(event, arguments)
    if host is not None:
        heard.append(host)
