"""Tests whether the rubric of a task judges the saved replies that its user hears."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from agentgym.manifest import show_path
from agentgym.task.model import Task
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.rubric.tree import Checkpoint

_ONLY: Final = "replies.only"
_ARGUMENTS: Final = {_ONLY: "allowed", "replies.sent": "replies"}


def unjudged(task: Task) -> Iterator[str]:
    """Yield replies and fields that do not exist, and a conversation that no check limits."""
    path = task.folder / "checks" / "rubric.toml"
    known = {reply.id: {field.name for field in reply.field} for reply in task.manifest.replies}
    leaves = list(load_rubric(path).leaves())
    for leaf in leaves:
        where = f"{show_path(path)}: checkpoint {leaf.id!r}"
        for ids, fields in _named(leaf):
            for id in ids:
                if id not in known:
                    yield f"{where}: task.toml has no saved reply {id!r}"
                elif missing := sorted(set(fields) - known[id]):
                    yield f"{where}: saved reply {id!r} has no field {missing[0]!r}"
    own = any(leaf.use.startswith("checks.") for leaf in leaves)
    if known and not own and not any(leaf.use == _ONLY for leaf in leaves):
        yield f"{show_path(path)}: no checkpoint uses {_ONLY}, so the user may be told anything"


def _named(leaf: Checkpoint) -> Iterator[tuple[list[str], list[str]]]:
    """Yield ids and fields of the replies in a checkpoint's arguments."""
    given = leaf.arguments.get(_ARGUMENTS.get(leaf.use, ""), ())
    for one in given if isinstance(given, list | tuple) else ():
        table = one if isinstance(one, Mapping) else {"reply": one}
        ids, fields = table.get("reply", ()), table.get("fields", {})
        found = [ids] if isinstance(ids, str) else ids
        names = list(fields) if isinstance(fields, Mapping) else []
        yield [str(id) for id in found] if isinstance(found, list | tuple) else [], names
