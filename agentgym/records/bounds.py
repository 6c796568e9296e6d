"""Limits of JSON values from outside: their depth, number of values and length.

Data of an agent or a server is measured here first, without recursion and without copying, so
that no later reader gets a value that it cannot hold.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Final

from agentgym.errors import ActionError
from agentgym.records.acting import Action, Decision, Nudge, TokenUsage
from agentgym.records.generations import Generation, TokenTrace
from agentgym.records.values import Json

MAX_DEPTH: Final = 64
"""Largest nesting depth of lists and objects."""

MAX_VALUES: Final = 100_000
"""Largest number of values in lists and objects, at all depths together."""

MAX_CHARACTERS: Final = 2**20
"""Largest number of characters of all texts and keys together."""

MAX_NAME: Final = 200
"""Largest number of characters of a tool's name."""

MAX_TOKENS: Final = 2**53 - 1
"""Largest number of tokens that one decision may report."""

_MAX_NUDGES, _MAX_NUDGE_CHARACTERS = 16, 20_000

MAX_GENERATIONS: Final = _MAX_NUDGES + 1
"""Completions that a record keeps of one decision: the last ones."""

_MAX_GENERATED_TOKENS: Final = 2**22
_MAX_WORD: Final = 500
"""Characters of a finish reason or of the name of a policy's version."""

_MAX_BITS: Final = 1024
"""Largest size of an integer in bits; other JSON readers refuse larger ones."""

_MAX_COMPLAINT: Final = 200
_VALUE_BYTES: Final = 64

_MAX_MARKS: Final = 2 * MAX_VALUES + 1_000
"""Commas and opening brackets of an action with as many values as it may have, and some more."""

# Possessive, and an unfinished text goes on to the end: it takes time in proportion to the length.
_TEXTS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_TEXTS_IN_BYTES: Final = re.compile(_TEXTS.pattern.encode(), re.DOTALL)

_MARK_BYTES: Final = 160
"""Memory of a value between two marks, its key included."""

_SMALL_VALUES: Final = 16
_SMALL_CHARACTERS: Final = 4_096
_LARGEST: Final = 2**63


def flaw_of(value: object) -> str:
    """Return what is wrong with a JSON value as a whole, or an empty text if nothing is.

    Text that cannot be encoded and numbers that are not finite are checked by the code that
    knows their field.

    Example:
        >>> flaw_of({"rows": [[1, 2], [3]]})
        ''
        >>> flaw_of({"blob": b"x"})
        'bytes is not a JSON value'
    """
    if _is_small(value):
        return ""
    count = characters = depth = 0
    todo: list[Iterator[object]] = [iter((value,))]
    while todo:
        # The depth is the number of open iterators, so no value is visited twice.
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


def is_too_rich(text: str | bytes, most: int = _MAX_MARKS) -> bool:
    """Return whether a JSON text holds far more values than `flaw_of` lets pass.

    To parse four megabytes of empty lists takes a second, in which a server gives no answers. The
    marks between the values are counted here first, those inside of texts left out.

    Args:
        text: The JSON text.
        most: Largest number of commas and opening brackets.

    Example:
        >>> is_too_rich('{"a": [1, 2, 3]}')
        False
        >>> is_too_rich("[" + "[]," * 200_000 + "[]]")
        True
    """
    if len(text) <= most or _marks(text) <= most:
        return False
    bare = _TEXTS.sub("", text) if isinstance(text, str) else _TEXTS_IN_BYTES.sub(b"", text)
    return _marks(bare) > most


def weight_of(text: str | bytes) -> int:
    """Return about how many bytes a JSON text and what is parsed of it take, without parsing it.

    Small objects take thirty times their text. A text that `is_too_rich` is never parsed.

    Example:
        >>> weight_of('{"a": 1}')
        8
        >>> weight_of("[" + '{"k":0},' * 1_000 + "0]") > 100_000
        True
    """
    size = len(text)
    if size <= _SMALL_CHARACTERS or _MARK_BYTES * _marks(text) <= size:
        return size
    bare = _TEXTS.sub("", text) if isinstance(text, str) else _TEXTS_IN_BYTES.sub(b"", text)
    marks = _marks(bare)
    return size if marks > _MAX_MARKS else size + _MARK_BYTES * marks


def _marks(text: str | bytes) -> int:
    if isinstance(text, str):
        return text.count(",") + text.count("[") + text.count("{")
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _is_small(value: object) -> bool:
    """Return whether a value is an object of a few short scalars, as most arguments are."""
    if type(value) is not dict or len(value) > _SMALL_VALUES:
        return value is None
    for key, part in value.items():
        if type(key) is not str or len(key) > _SMALL_CHARACTERS:
            return False
        kind = type(part)
        if kind is str:
            if len(part) > _SMALL_CHARACTERS:
                return False
        elif kind is int:
            if not -_LARGEST <= part <= _LARGEST:
                return False
        elif part is not None and kind is not float and kind is not bool:
            return False
    return True


def memory_of(value: object) -> int:
    """Return about how many bytes a JSON value takes in memory; it may be anything within bounds.

    A text takes up to four bytes for each character.

    Example:
        >>> memory_of({"text": "a" * 1_000}) // 1_000, memory_of("😀" * 1_000) // 1_000
        (1, 4)
    """
    size, todo = 0, [value]
    while todo:
        part = todo.pop()
        size += _VALUE_BYTES
        if isinstance(part, str):
            size += sys.getsizeof(part)
        elif isinstance(part, Mapping):
            todo += part.keys()
            todo += part.values()
        elif isinstance(part, (list, tuple)):
            todo += part
    return size


def malformed(complaint: object) -> Action:
    """Return the action that replaces one that cannot be executed; it replays as such."""
    # The complaint may quote the agent's text, of any length and in any characters.
    text = str(complaint).encode("ascii", "backslashreplace").decode()
    return Action("", {"malformed": text[:_MAX_COMPLAINT]})


def flaw_of_decision(decision: Decision) -> str:
    """Return which field of a decision has the wrong type, or an empty text if all are right.

    Python does not check the fields that an agent sets, and every later reader relies on them.

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
    return flaw_of_generations(decision.generations)


def flaw_of_generations(generations: object) -> str:
    """Return what no record could hold of a decision's generations, or an empty text."""
    if generations is None:
        return ""
    if not isinstance(generations, tuple):
        return f"generations is a {type(generations).__name__}; expected a tuple of Generation"
    tokens = 0
    for generation in generations[-MAX_GENERATIONS:]:
        if not isinstance(generation, Generation):
            return f"generations has a {type(generation).__name__}; expected only Generation"
        if flaw := _flaw_of_generation(generation):
            return f"generations has a Generation whose {flaw}"
        trace = generation.tokens
        tokens += sum(len(a) for a in (trace.prompt_ids, trace.completion_ids) if a is not None)
    if tokens > _MAX_GENERATED_TOKENS:
        return f"generations has {tokens:,} tokens; expected at most {_MAX_GENERATED_TOKENS:,}"
    return ""


def _flaw_of_generation(generation: Generation) -> str:
    if not isinstance(generation.tokens, TokenTrace):
        return f"tokens is a {type(generation.tokens).__name__}; expected a TokenTrace"
    for name in ("finish_reason", "policy_version"):
        word = getattr(generation, name)
        if word is not None and not (isinstance(word, str) and len(word) <= _MAX_WORD):
            return f"{name} is not None or text of at most {_MAX_WORD} characters"
    if not isinstance(generation.rejected, bool):
        return f"rejected is a {type(generation.rejected).__name__}; expected a bool"
    sampling = generation.sampling
    if sampling is not None and not isinstance(sampling, Mapping):
        return f"sampling is a {type(sampling).__name__}; expected an object or None"
    flaw = flaw_of(sampling)
    return f"sampling is out of bounds: {flaw}" if flaw else ""


def flaw_of_usage(usage: TokenUsage) -> str:
    """Return which count of tokens no record could hold, or an empty text if all are valid."""
    for field in fields(TokenUsage):
        count = getattr(usage, field.name)
        if type(count) is not int:
            return f"usage.{field.name} is a {type(count).__name__}; expected an int"
        if not 0 <= count <= MAX_TOKENS:
            shown = count if abs(count) < 10**30 else "a number of more than 30 digits"
            return f"usage.{field.name} is {shown}; expected 0 to {MAX_TOKENS} tokens"
    return ""


def read_decision(value: object) -> Decision:
    """Return a decision within its bounds.

    Args:
        value: A decision, an action or an action as JSON. Anything else becomes a record of the
            error, which replays alike.
    """
    if isinstance(value, Decision):
        return bounded_decision(value)
    try:
        action = Action.from_json(value)
    except ActionError as error:
        return Decision(malformed(error))
    flaw = _flaw_of_action(action)
    return Decision(malformed(flaw) if flaw else action)


def bounded_decision(decision: Decision) -> Decision:
    """Return a decision that can be executed, sent and recorded.

    An action beyond the bounds becomes a malformed one, which is answered like any illegal
    action. A reply beyond the bounds is dropped; a thought and nudges are cut.
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
    generations = decision.generations
    if isinstance(generations, tuple):
        generations = generations[-MAX_GENERATIONS:]
    if (
        action is decision.action
        and thought is decision.thought
        and reply is decision.reply
        and nudges == decision.nudges
        and generations is decision.generations
    ):
        return decision
    return replace(
        decision,
        action=action,
        thought=thought,
        reply=reply,
        nudges=nudges,
        generations=generations,
    )


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
    arguments: object = action.arguments
    if not isinstance(arguments, Mapping):
        return f"the arguments of tool {tool!r} are no object: {type(arguments).__name__}"
    flaw = flaw_of(arguments)
    return f"tool {tool!r}: the arguments are out of bounds: {flaw}" if flaw else ""
