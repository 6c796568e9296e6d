"""Beginnings of a solution: its first actions, or the first statements of its script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentgym.authoring.statements import boundaries
from agentgym.records import Action
from agentgym.task.reference_actions import reads_answer

MOST = 4


@dataclass(frozen=True, slots=True)
class Prefix:
    """A beginning of a solution with the solution's ending; `name` says how far it goes."""

    name: str
    actions: tuple[Action, ...]


def prefixes(actions: Sequence[Action], most: int = MOST) -> list[Prefix]:
    """Return proper beginnings of a solution, shortest first, evenly spread.

    Args:
        actions: The solution; the last action ends the episode.
        most: Largest number of beginnings.
    """
    *work, end = actions
    ending: tuple[Action, ...] = (end,)
    if len(work) == 2 and reads_answer(work[1]):
        ending = (work.pop(), end)
    if len(work) > 1:
        return [
            Prefix(f"the first {count} of {len(work)} actions", (*work[:count], *ending))
            for count in _spread(range(1, len(work)), most)
        ]
    command = work[0].arguments.get("command") if work else None
    if not isinstance(command, str):
        return []
    lines = command.splitlines(keepends=True)
    found = []
    for count in _spread(boundaries(lines), most):
        part = replace(work[0], arguments={**work[0].arguments, "command": "".join(lines[:count])})
        found.append(
            Prefix(f"the solution up to {lines[count - 1].strip()[:50]!r}", (part, *ending))
        )
    return found


def _spread(positions: Sequence[int], most: int) -> list[int]:
    if len(positions) <= most:
        return list(positions)
    return [positions[(number + 1) * len(positions) // (most + 1)] for number in range(most)]
