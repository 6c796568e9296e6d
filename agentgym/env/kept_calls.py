"""Bounds the memory that the calls of one episode take until its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from agentgym.records import Decision
from agentgym.records.bounds import malformed, memory_of

KEPT_BYTES: Final = 16 * 2**20
"""Memory that the calls and replies of one episode may take together."""

_SCALARS: Final = frozenset((str, int, float, bool, type(None)))
"""Types of most values: a call may have 100,000, and other episodes wait meanwhile."""


@dataclass(slots=True)
class KeptCalls:
    """Counts the calls that an episode keeps.

    One call may have a million characters, an episode thousands of calls, and a process holds
    those of all its live episodes.

    Attributes:
        taken_bytes: Memory that they take so far.
    """

    taken_bytes: int = 0

    def keep(self, decision: Decision) -> Decision:
        """Return a decision as it is kept and executed: beyond the bound its call is malformed.

        The arguments are copied: a caller that changes its object for the next call must not
        change what the checks and the record find in this one.
        """
        size = memory_of(decision.action.arguments) + memory_of(decision.reply)
        if self.taken_bytes + size > KEPT_BYTES:
            told = f"the calls of an episode may take {KEPT_BYTES // 2**20} MiB together"
            decision = replace(decision, action=malformed(told), reply=None)
            size = memory_of(decision.action.arguments)
        self.taken_bytes += size
        action = decision.action
        return replace(decision, action=replace(action, arguments=_copied(action.arguments)))


def _copied(value: Any) -> Any:
    """Return a copy of a JSON value within its bounds; its depth is bounded, too."""
    if isinstance(value, Mapping):
        return {
            name: part if type(part) in _SCALARS else _copied(part) for name, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [part if type(part) in _SCALARS else _copied(part) for part in value]
    return value
