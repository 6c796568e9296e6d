"""Bounds of JSON values that come from outside: how deep, how many values, how long.

Whatever an agent or a server sends is measured here first, without recursion and without
copying it, so that no later reader meets a value that it cannot hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Final

from agentgym.records.acting import Action, Decision, Nudge, TokenUsage
from agentgym.records.values import Json

MAX_DEPTH: Final = 64
"""How deep lists and objects may be nested."""

MAX_VALUES: Final = 100_000
"""Values in lists and objects, at every depth together."""

MAX_CHARACTERS: Final = 2**20
"""Characters of all texts and keys together."""

MAX_NAME: Final = 200
"""Characters of a tool's name."""

MAX_TOKENS: Final = 2**53 - 1
"""Tokens that one decision may say it cost."""

_MAX_NUDGES, _MAX_NUDGE_CHARACTERS = 16, 20_000
_MAX_BITS: Final = 1024
"""Of an integer: what JSON readers elsewhere take for a number at all."""

_MAX_COMPLAINT: Final = 200


def flaw_of(value: object) -> str:
    """Return what is wrong with a JSON value as a whole, or an empty text if nothing is.

    Text that cannot be encoded and numbers that are not finite are left to whoever knows which
    field they stand in.

    Example:
        >>> flaw_of({"rows": [[1, 2], [3]]})
        ''
        >>> flaw_of({"blob": b"x"})
        'bytes is not a JSON value'
    """
    count = characters = depth = 0
    todo: list[Iterator[object]] = [iter((value,))]
    while todo:
        # The depth is how many iterators are open, so no value is visited twice.
        for part in todo[-1]:
            count += 1
            if count > MAX_VALUES:
                return f"more than {MAX_VALUES:,} values; expected fewer"
            if part is None or isinstance(part, (bool, float)):
                continue
            if isinstance(part, str):
                characters += len(part)
            elif isinstance(part, int):
                if part.bit_length() > _MAX_BITS:
                    return f"an integer of {part.bit_length():,} bits; expected a smaller one"
            elif isinstance(part, Mapping):
                characters += sum(len(key) for key in part if isinstance(key, str))
                todo.append(iter(part.values()))
                break
            elif isinstance(part, (list, tuple)):
                todo.append(iter(part))
                break
            else:
                return f"{type(part).__name__} is not a JSON value"
            if characters > MAX_CHARACTERS:
                break
        else:
            todo.pop()
        depth = len(todo) - 1
        if depth > MAX_DEPTH:
            return f"nested more than {MAX_DEPTH} deep; expected a flatter value"
        if characters > MAX_CHARACTERS:
            return f"more than {MAX_CHARACTERS:,} characters; expected fewer"
    return ""


def malformed(complaint: object) -> Action:
    """Return the action that stands for one that cannot be executed; it replays as such."""
    # The complaint may quote what the agent sent, of any length and in any characters.
    text = str(complaint).encode("ascii", "backslashreplace").decode()
    return Action("", {"malformed": text[:_MAX_COMPLAINT]})


def flaw_of_decision(decision: Decision) -> str:
    """Return which field of a decision is not of its type, or an empty text if none is.

    Python does not check what an agent puts into the fields, and every later reader relies on it.

    Example:
        >>> flaw_of_decision(Decision(Action("bash"), usage="much"))
        'usage is a str; expected a TokenUsage'
    """
    for name, kind, wanted in (
        ("action", Action, "an Action"),
        ("thought", str, "text"),
        ("usage", TokenUsage, "a TokenUsage"),
        ("nudges", tuple, "a tuple of Nudge"),
    ):
        if not isinstance(found := getattr(decision, name), kind):
            return f"{name} is a {type(found).__name__}; expected {wanted}"
    if flaw := flaw_of_usage(decision.usage):
        return flaw
    for nudge in decision.nudges:
        if not isinstance(nudge, Nudge):
            return f"nudges has a {type(nudge).__name__}; expected only Nudge"
        if not isinstance(nudge.said, str) or not isinstance(nudge.told, str):
            return "nudges has a Nudge whose fields are not text"
    return ""


def flaw_of_usage(usage: TokenUsage) -> str:
    """Return which count of tokens no record could hold, or an empty text if none is."""
    for field in fields(TokenUsage):
        count = getattr(usage, field.name)
        if type(count) is not int:
            return f"usage.{field.name} is a {type(count).__name__}; expected an int"
        if not 0 <= count <= MAX_TOKENS:
            shown = count if abs(count) < 10**30 else "a number of more than 30 digits"
            return f"usage.{field.name} is {shown}; expected 0 to {MAX_TOKENS} tokens"
    return ""


def bounded_decision(decision: Decision) -> Decision:
    """Return a decision that can be executed, sent and recorded.

    An action beyond the bounds becomes a malformed one, which is answered like any illegal
    action. Beside it, a reply beyond them is dropped, and a thought and nudges are cut.
    """
    action, reply, thought = decision.action, decision.reply, decision.thought
    if flaw := _flaw_of_action(action):
        action = malformed(flaw)
    if flaw_of(reply):
        reply = None
    if isinstance(thought, str) and len(thought) > MAX_CHARACTERS:
        thought = thought[:MAX_CHARACTERS]
    nudges = decision.nudges
    if nudges and isinstance(nudges, tuple):
        nudges = tuple(map(_cut, nudges[-_MAX_NUDGES:]))
    return replace(decision, action=action, thought=thought, reply=reply, nudges=nudges)


def _cut(nudge: Nudge) -> Nudge:
    return Nudge(nudge.said[:_MAX_NUDGE_CHARACTERS], nudge.told[:_MAX_NUDGE_CHARACTERS])


def _flaw_of_action(action: Action) -> str:
    if not isinstance(action, Action):
        return f"expected an Action, got {type(action).__name__}"
    tool: Json | object = action.tool
    if not isinstance(tool, str):
        return f"expected text as the name of a tool, got {type(tool).__name__}"
    if len(tool) > MAX_NAME:
        return f"no tool has a name of {len(tool):,} characters"
    flaw = flaw_of(action.arguments)
    return f"tool {tool!r}: the arguments are out of bounds: {flaw}" if flaw else ""
