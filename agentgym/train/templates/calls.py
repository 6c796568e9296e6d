"""Reads the tool calls of a completion in the forms that families of models write.

- ``hermes``: ``<tool_call>{"name": …, "arguments": {…}}</tool_call>`` (Hermes, Qwen)
- ``llama3``: ``{"name": …, "parameters": {…}}`` and nothing else (Llama 3)
- ``mistral``: ``[TOOL_CALLS][{"name": …, "arguments": {…}}]``, or ``[TOOL_CALLS]name[ARGS]{…}``

A call ends where its JSON ends, so an argument may hold a family's own marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, TypeAlias

from agentgym.records import Action

_HERMES: Final = "<tool_call>"
_HERMES_END: Final = "</tool_call>"
_THOUGHT: Final = "</think>"
_MISTRAL: Final = "[TOOL_CALLS]"
_NAMED: Final = re.compile(r"\s*([\w.-]+?)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\]\s*)?(?=\{)")


class CallForm(StrEnum):
    """Forms of tool calls; see the module."""

    HERMES = "hermes"
    LLAMA3 = "llama3"
    MISTRAL = "mistral"


def read_call(text: str, form: CallForm) -> Action:
    """Return the tool call of a completion.

    Args:
        text: The completion without the token that ended it. Text before ``</think>`` is ignored,
            unless that is part of an argument.
        form: The form that the model's chat template writes calls in.

    Raises:
        ValueError: The text makes no call, several calls, or one that cannot be read.
    """
    calls = _quoting(text, form) or list(_READERS[form](text.rpartition(_THOUGHT)[2]))
    if not calls:
        raise ValueError(f"it has no call in the form of {form}; it says {_shown(text)}")
    if len(calls) > 1:
        raise ValueError(f"it makes {len(calls)} calls; expected one")
    return calls[0]


def _quoting(text: str, form: CallForm) -> list[Action]:
    """Return the calls of a text if an argument of theirs holds the end of a thought."""
    if _THOUGHT not in text:
        return []
    try:
        calls = list(_READERS[form](text))
    except ValueError:
        return []
    return calls if any(_THOUGHT in json.dumps(dict(c.arguments)) for c in calls) else []


def _hermes(text: str) -> Iterator[Action]:
    while _HERMES in text:
        written = text.partition(_HERMES)[2].lstrip()
        value, end = _first_json(written)
        rest, _, text = written[end:].partition(_HERMES_END)
        _nothing_after(rest)
        yield _call(value, "arguments")


def _llama3(text: str) -> Iterator[Action]:
    told = text.strip().removeprefix("<|python_tag|>").strip()
    while told:
        if not told.startswith("{"):
            raise ValueError(f"expected a JSON object, got {_shown(told)}")
        value, end = _first_json(told)
        yield _call(value, "parameters", "arguments")
        told = told[end:].lstrip().removeprefix(";").lstrip()


def _mistral(text: str) -> Iterator[Action]:
    while _MISTRAL in text:
        written = text.partition(_MISTRAL)[2].lstrip()
        if named := _NAMED.match(written):
            written = written[named.end() :]
        value, end = _first_json(written)
        rest, marker, further = written[end:].partition(_MISTRAL)
        _nothing_after(rest)
        if named:
            yield _call({"name": named[1], "arguments": value}, "arguments")
        else:
            for call in value if isinstance(value, list) else [value]:
                yield _call(call, "arguments")
        text = marker + further


_Reader: TypeAlias = Callable[[str], Iterator[Action]]
_READERS: Final[Mapping[CallForm, _Reader]] = {
    CallForm.HERMES: _hermes,
    CallForm.LLAMA3: _llama3,
    CallForm.MISTRAL: _mistral,
}


def _call(value: Any, *fields: str) -> Action:
    """Return the call that a JSON value describes, its arguments under one of the fields."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        raise ValueError(f"a call is an object with a name, got {_shown(json.dumps(value))}")
    arguments: Any = next((value[field] for field in fields if field in value), {})
    if isinstance(arguments, str):  # Some models quote the object.
        arguments = _json(arguments)
    if not isinstance(arguments, dict):
        raise ValueError(f"the arguments of {value['name']} must be a JSON object")
    return Action(value["name"], arguments)


def _json(text: str) -> Any:
    value, end = _first_json(text.strip())
    _nothing_after(text.strip()[end:])
    return value


def _first_json(text: str) -> tuple[Any, int]:
    """Return the JSON value at the beginning of a text, and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its call is not JSON ({error}): {_shown(text)}") from None
    return value, end


def _nothing_after(rest: str) -> None:
    if rest.strip():
        raise ValueError(f"text follows its call: {_shown(rest)}")


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)
