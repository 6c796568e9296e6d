"""Drafts a small task for services without an example: the agent makes one call that changes a row.

The call is sampled from the tools' schemas and the existing rows and made once. What it changed
becomes the rubric. The draft is a sound starting point for its author to change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentgym.authoring.sampled_calls import SampledCalls
from agentgym.env.hosting import WORLD_SEED
from agentgym.errors import ConfigError
from agentgym.records import Action, RowChange
from agentgym.services.backend import Backend, ServiceSet
from agentgym.services.diff import diff
from agentgym.services.layout import Layout
from agentgym.services.state import Snapshot

_NOW: Final = "2026-03-02T09:00:00Z"
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
_TASK: Final = f'''schema_version = "agentgym.task/1"
id = "__ID__"                # suite/name-vN: a change of scoring is a new version
title = "Make one call of {{tool}}"      # one line, for lists
tags = ["example"]
difficulty = "easy"                      # easy | medium | hard
env = "__ENV__"
max_steps = 30
# abstain = true                         # where giving up can be right

[clock]
start = "{_NOW}"           # the time of the services; a step takes a minute
'''
_INSTRUCTION: Final = """Please call `{tool}` once, with

```json
{arguments}
```

and leave everything else as it is.
"""
_RUBRIC: Final = """schema_version = "agentgym.rubric/1"
pass_score = 1.0

# `agentgym verifier show services` describes the checks of services; `checks.<name>` would be a
# function of your own in checks.py beside this file.
[[checkpoint]]
id = "done"
title = "What was asked for is done"
{done}

[[checkpoint]]
id = "nothing-else"
title = "Nothing else was changed"
use = "services.only_changed"
with = {{ allowed = {allowed} }}
phase = "safety"
gate = true                              # when it fails, nothing else counts
"""


def draft(env: str, services: ServiceSet, offered: frozenset[str]) -> Mapping[str, str]:
    """Return the files of a task, by path in its folder.

    Args:
        env: Name of the environment, for messages.
        services: Services of the environment.
        offered: Names of the tools that the agent has in it.

    Raises:
        ConfigError: No sampled call changes a row.
    """
    start = services.template(WORLD_SEED, _NOW)
    sampled_calls = SampledCalls(services, start, offered, by_key=True)
    try:
        reads = sampled_calls.reads()
        drawn = (*sampled_calls.additions(), *sampled_calls.changes())
        for action in (*map(sampled_calls.plainly, drawn), *drawn):
            changes = _changes(services, start, action)
            if done := _done(changes, services.layout):
                return _files(reads, action, done, _allowed(changes, services.layout))
    finally:
        sampled_calls.close()
    raise ConfigError(
        f"environment {env!r}: no call of its tools that changes a row could be made up; write the "
        "folder by hand (docs/authoring.md), or copy a task of that environment"
    )


def _changes(services: ServiceSet, start: Snapshot, action: Action) -> Sequence[RowChange]:
    backend = Backend(services, start)
    try:
        backend.call(action.tool, action.arguments)
        return diff(start, backend.snapshot())
    finally:
        backend.close()


def _files(
    reads: Sequence[Action], action: Action, done: str, allowed: Sequence[Mapping[str, Any]]
) -> Mapping[str, str]:
    looks = "".join(_line(read) for read in reads)
    wanted = f"[{', '.join(map(_toml, allowed))}]"
    arguments = json.dumps(dict(action.arguments), ensure_ascii=False, indent=2)
    return {
        "task.toml": _TASK.format(tool=action.tool),
        "instruction.md": _INSTRUCTION.format(tool=action.tool, arguments=arguments),
        "solution/actions.jsonl": looks + _line(action) + _line(Action("submit")),
        "mutants/only_looks.jsonl": "# Must not pass: nothing is changed.\n"
        + looks
        + _line(Action("submit")),
        "checks/rubric.toml": _RUBRIC.format(done=done, allowed=wanted),
    }


def _done(changes: Sequence[RowChange], layout: Layout) -> str:
    """Return a check of what a call changed; empty if no row shows it reliably."""
    for change in sorted(changes, key=lambda change: change.kind != "added"):
        key = _key(change, layout)
        if change.kind == "added":
            said = {name: v for name, v in _steady(change.row).items() if name not in key}
            if said:
                told = _toml({"table": change.table, "where": said, "new": True})
                return f'use = "services.row"\nwith = {told}'
        elif change.kind == "changed" and key and (said := _steady(change.after or {})):
            told = _toml({"table": change.table, "where": key, "columns": said})
            return f'use = "services.changed_to"\nwith = {told}'
    return ""


def _allowed(changes: Sequence[RowChange], layout: Layout) -> list[Mapping[str, Any]]:
    """Return entries of `services.only_changed` for what a call changed, free text included."""
    added: dict[str, list[RowChange]] = {}
    found: list[Mapping[str, Any]] = []
    for change in changes:
        if change.kind == "added":
            added.setdefault(change.table, []).append(change)
            continue
        rule: dict[str, Any] = {"table": change.table, "kind": change.kind}
        rule |= {"where": key} if (key := _key(change, layout)) else {}
        rule |= {"columns": list(change.after or {})} if change.kind == "changed" else {}
        found.append(rule | _texts([change], layout))
    return found + [
        {"table": table, "kind": "added", "at_most": len(rows)} | _texts(rows, layout)
        for table, rows in added.items()
    ]


def _texts(changes: Sequence[RowChange], layout: Layout) -> dict[str, Any]:
    """Return the free text that changes of one table brought into it; empty without such text."""
    free = next(table.texts for table in layout.tables if table.name == changes[0].table)
    texts: dict[str, list[str]] = {}
    for change in changes:
        written = change.row if change.kind == "added" else change.after or {}
        for column in free:
            text = written.get(column)
            if isinstance(text, str) and text and text not in texts.get(column, []):
                texts.setdefault(column, []).append(text)
    return {"texts": texts} if texts else {}


def _key(change: RowChange, layout: Layout) -> dict[str, Any]:
    names = next(table.key for table in layout.tables if table.name == change.table)
    return dict(zip(names, change.key, strict=False))


def _steady(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a row that do not depend on the clock and that TOML can express."""
    return {
        name: value
        for name, value in row.items()
        if isinstance(value, str | int | float)
        and value != ""
        and not (isinstance(value, str) and _MOMENT.fullmatch(value))
    }


def _line(action: Action) -> str:
    value = {"tool": action.tool, "arguments": dict(action.arguments)}
    return json.dumps(value, ensure_ascii=False) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_toml(one)}' for name, one in value.items())} }}"
    # JSON and TOML write texts, numbers, booleans and lists of them alike, except for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
