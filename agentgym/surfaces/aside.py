"""Calls services beside the event loop, on threads that nothing else waits for."""

from __future__ import annotations

from typing import Final

from agentgym.threads import Threads

_SERVICES: Final = Threads(4, "agentgym-services")
"""More threads would only share the interpreter's lock; sandboxes have threads of their own."""

aside: Final = _SERVICES.finish
"""Make a call on another thread and wait for it; other episodes go on meanwhile.

A cancelled caller still waits until the call has ended, so that no part of the call happens after
the step that it belongs to. The budget of the call bounds this wait.
"""
