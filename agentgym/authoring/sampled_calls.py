"""Calls of services that anybody could make: drawn from the tools' schemas and the rows there are.

They look like work and are none: reads that harm nothing, and writes that nobody asked for.
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
    """Draws calls about what an episode begins with; equal arguments give equal calls.

    Args:
        services: Whose tools.
        start: What the episode begins with.
        offered: Names of the tools that the agent has.
        by_key: Whether a text argument that has the name of a table takes keys of that table.
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
        """Let the state go."""
        self._backend.close()

    def reads(self, turn: int = 0) -> list[Action]:
        """Return a read of every service, another one every turn."""
        found = []
        for service in dict.fromkeys(f.service for f in self._functions):
            own = [f for f in self._functions if f.service == service and not f.writes]
            if own:
                found += self._drawn(own[turn % len(own)], lambda reply: reply.error is None)
        return found

    def additions(self) -> list[Action]:
        """Return, of every tool that can do so, a call that adds rows and removes none."""

        def adds(reply: Reply) -> bool:
            kinds = {ref.kind for ref in self._backend.audit[-1].changed}
            return "added" in kinds and "removed" not in kinds

        return [action for f in self._writing() for action in self._drawn(f, adds)]

    def plainly(self, action: Action) -> Action:
        """Return a call whose free texts are sentences that a person would write."""
        (function,) = (f for f in self._functions if f.spec.name == action.tool)
        keys = {
            name: value
            for name, value in action.arguments.items()
            if self._names_row(function, name)
        }
        said = _saying(function, action, _PLAIN[0])
        return replace(said, arguments={**said.arguments, **keys})

    def changes(self) -> list[Action]:
        """Return, of every tool that can do so, a call that changes rows."""

        def alters(reply: Reply) -> bool:
            return reply.error is None and bool(self._backend.audit[-1].changed)

        return [action for f in self._writing() for action in self._drawn(f, alters)]

    def writes(self, each: int, texts: Sequence[str]) -> list[Action]:
        """Return some calls of every tool that writes, whether they are refused or not.

        Args:
            each: Calls of a tool.
            texts: What free texts say, one after the other.
        """
        return [
            _saying(f, action, texts[turn % len(texts)])
            for f in self._writing()
            for turn in range(each)
            for action in self._drawn(f)
        ]

    def sweeps(self, first: Sequence[Json], each: int, text: str) -> list[Action]:
        """Return calls of every tool that writes about one thing after the other.

        Args:
            first: Numbers and names that come first, where a tool takes them.
            each: Calls of a tool.
            text: What free texts say.
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
        """Whether calls add rows when they are made a second time."""
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
        """Whether a parameter takes the text that is the key of a table of the same name."""
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
        """Return a call whose answer fits, nothing where some tries did not find one."""
        for _ in range(_TRIES):
            if function.spec.name in self._undrawable:
                return []
            try:
                arguments = self._sampler.draw(function)
            except AssertionError:  # nothing legal can be made up
                self._undrawable.add(function.spec.name)
                return []
            reply = self._backend.call(function.spec.name, arguments)
            fitting = fits(reply)
            if function.writes:
                self._backend.restore(self._start)
            if fitting:
                return [Action(function.spec.name, arguments)]
        return []

    def _subject(self, function: Function, first: Sequence[Json]) -> tuple[str, list[Json]]:
        """Return the parameter that says what a tool acts upon, with values for it."""
        texts = free_texts(function)
        for name in self._sampler.required(function):
            values = self._sampler.values(function, name)
            if len(values) > 1 and name not in texts:
                schema = _parameters(function)[name]
                named = [value for value in first if _is_valid(value, schema)]
                return name, [*named, *(value for value in values if value not in named)]
        return "", []


def _saying(function: Function, action: Action, text: str) -> Action:
    """Return a call whose free texts say something else, as far as they are long enough."""
    said = {
        name: text[: _parameters(function)[name].get("maxLength", len(text))]
        for name in free_texts(function)
        if name in action.arguments
    }
    return replace(action, arguments={**action.arguments, **said})


def _parameters(function: Function) -> Any:
    return function.spec.parameters["properties"]


def _examples(function: Function, now: str) -> dict[str, Sequence[Json]]:
    """Return by parameter what no row can tell: texts, and moments that are still to come."""
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
    """Whether a schema admits a value."""
    return bool(jsonschema.Draft202012Validator(schema).is_valid(value))
