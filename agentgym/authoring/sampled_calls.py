"""Calls of services that any agent could make, sampled from the tools' schemas and existing rows.

They resemble work but do not solve a task: reads that change nothing, and unrequested writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import jsonschema
import numpy as np

from agentgym.records import Action, Json, Reply
from agentgym.services.backend import Backend, ServiceSet
from agentgym.services.functions import Function
from agentgym.services.layout import quoted
from agentgym.services.state import Snapshot
from agentgym.surfaces.call_sampler import CallSampler, free_texts

_TRIES = 6
_PLAIN = ("A note for later.", "Please have a look at this when there is time.")


class SampledCalls:
    """Samples calls about the initial state of an episode; equal arguments give equal calls.

    Args:
        services: Services whose tools are called.
        start: Initial state of the episode.
        offered: Names of the tools that the agent has.
        by_key: Whether a text argument named like a table takes keys of that table.
    """

    def __init__(
        self,
        services: ServiceSet,
        start: Snapshot,
        offered: frozenset[str],
        *,
        by_key: bool = False,
    ) -> None:
        self._by_key = by_key
        self._start = start
        self._functions = [f for name, f in services.functions.items() if name in offered]
        self._backend = Backend(services, start)
        examples: dict[str, Sequence[Json]] = {
            f"{function.spec.name}.{name}": given
            for function in self._functions
            for name, given in _examples(function, start.now).items()
            if not self._names_row(function, name)
        }
        self._sampler = CallSampler(self._backend, np.random.default_rng(0), examples)
        self._undrawable: set[str] = set()

    def close(self) -> None:
        """Release the state."""
        self._backend.close()

    def reads(self, turn: int = 0) -> list[Action]:
        """Return a read of every service; a different one every turn."""
        found = []
        for service in dict.fromkeys(f.service for f in self._functions):
            own = [f for f in self._functions if f.service == service and not f.writes]
            if own:
                found += self._drawn(own[turn % len(own)], lambda reply: reply.error is None)
        return found

    def additions(self) -> list[Action]:
        """Return a call that adds rows and removes none, for every tool that can make one."""

        def adds(reply: Reply) -> bool:
            kinds = {ref.kind for ref in self._backend.audit[-1].changed}
            return "added" in kinds and "removed" not in kinds

        return [action for f in self._writing() for action in self._drawn(f, adds)]

    def plainly(self, action: Action) -> Action:
        """Return the call with its free texts replaced by plausible sentences."""
        (function,) = (f for f in self._functions if f.spec.name == action.tool)
        keys = {
            name: value
            for name, value in action.arguments.items()
            if self._names_row(function, name)
        }
        said = _saying(function, action, _PLAIN[0])
        return replace(said, arguments={**said.arguments, **keys})

    def changes(self) -> list[Action]:
        """Return a call that changes rows, for every tool that can make one."""

        def alters(reply: Reply) -> bool:
            return reply.error is None and bool(self._backend.audit[-1].changed)

        return [action for f in self._writing() for action in self._drawn(f, alters)]

    def writes(self, each: int, texts: Sequence[str]) -> list[Action]:
        """Return some calls of every tool that writes, including calls that are refused.

        Args:
            each: Number of calls of each tool.
            texts: Values of the free texts, one after the other.
        """
        return [
            _saying(f, action, texts[turn % len(texts)])
            for f in self._writing()
            for turn in range(each)
            for action in self._drawn(f)
        ]

    def sweeps(self, first: Sequence[Json], each: int, text: str) -> list[Action]:
        """Return calls of every tool that writes, over many subjects in turn.

        Args:
            first: Numbers and names to use first, if a tool takes them.
            each: Number of calls of each tool.
            text: Value of the free texts.
        """
        found = []
        for function in self._writing():
            for action in self._drawn(function):
                said = _saying(function, action, text)
                name, values = self._subject(function, first)
                found += [
                    replace(said, arguments={**said.arguments, name: value})
                    for value in values[:each]
                ] or [said]
        return found

    def adds_rows(self, actions: Sequence[Action]) -> bool:
        """Return whether calls add rows when they are made a second time."""
        calls = [a for a in actions if a.tool in {f.spec.name for f in self._writing()}]
        try:
            for action in calls:
                self._backend.call(action.tool, action.arguments)
            first = len(self._backend.audit)
            for action in calls:
                self._backend.call(action.tool, action.arguments)
            again = list(self._backend.audit)[first:]
            return any(ref.kind == "added" for entry in again for ref in entry.changed)
        finally:
            self._backend.restore(self._start)

    def _names_row(self, function: Function, name: str) -> bool:
        """Return whether a parameter takes the text key of a table of the same name."""
        if not self._by_key:
            return False
        schema, rows = _parameters(function)[name], self._backend.state.rows
        for table in self._backend.state.layout.tables:
            if len(table.key) != 1 or table.name != f"{function.service}_{name}":
                continue
            key = quoted(table.key[0])
            first = rows.column(f"SELECT {key} FROM {quoted(table.name)} ORDER BY 1 LIMIT 1")
            return any(isinstance(value, str) and _is_valid(value, schema) for value in first)
        return False

    def _writing(self) -> Iterator[Function]:
        return (function for function in self._functions if function.writes)

    def _drawn(
        self, function: Function, fits: Callable[[Reply], bool] = lambda reply: True
    ) -> list[Action]:
        """Return a call whose reply fits; empty if several tries find none."""
        for _ in range(_TRIES):
            if function.spec.name in self._undrawable:
                return []
            try:
                arguments = self._sampler.draw(function)
            except AssertionError:  # the schema admits no call that can be generated
                self._undrawable.add(function.spec.name)
                return []
            reply = self._backend.call(function.spec.name, arguments)
            fitting = fits(reply)
            if self._backend.audit[-1].changed:
                self._backend.restore(self._start)
            if fitting:
                return [Action(function.spec.name, arguments)]
        return []

    def _subject(self, function: Function, first: Sequence[Json]) -> tuple[str, list[Json]]:
        """Return the parameter that names what a tool acts upon, and values for it."""
        texts = free_texts(function)
        for name in self._sampler.required(function):
            values = self._sampler.values(function, name)
            if len(values) > 1 and name not in texts:
                schema = _parameters(function)[name]
                named = [value for value in first if _is_valid(value, schema)]
                return name, [*named, *(value for value in values if value not in named)]
        return "", []


def _saying(function: Function, action: Action, text: str) -> Action:
    """Return a call with its free texts replaced, if they are long enough."""
    said = {
        name: text[: _parameters(function)[name].get("maxLength", len(text))]
        for name in free_texts(function)
        if name in action.arguments
    }
    return replace(action, arguments={**action.arguments, **said})


def _parameters(function: Function) -> Any:
    return function.spec.parameters["properties"]


def _examples(function: Function, now: str) -> dict[str, Sequence[Json]]:
    """Return values by parameter that no row supplies: texts, and times in the future."""
    found: dict[str, Sequence[Json]] = dict.fromkeys(free_texts(function), _PLAIN)
    tomorrow = datetime.fromisoformat(now) + timedelta(days=1)
    for name, schema in _parameters(function).items():
        moment = tomorrow + timedelta(hours=1) * name.startswith(("end", "until"))
        for form in ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"):
            text = moment.strftime(form)
            if name not in found and "pattern" in str(schema) and _is_valid(text, schema):
                found[name] = [text]
    return found


def _is_valid(value: Json, schema: Any) -> bool:
    """Return whether a schema admits a value."""
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))
