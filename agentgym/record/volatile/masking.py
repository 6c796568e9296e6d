"""Masks volatile text, so that two texts which differ in nothing else become equal.

Both texts of a comparison are masked with the same periods, so equal values stay equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from agentgym.record.volatile.kinds import mask_kinds
from agentgym.record.volatile.tables import mask_tables
from agentgym.record.volatile.times import Period, mask_times
from agentgym.records import Action, Observation

LONGEST_CHARS = 1_000_000
"""Longer texts are compared unmasked: masking takes a second for each million characters."""

_TEMPLATE = re.compile(r"(?<![\w.-])(?=[\w.-]*[^\WX])[\w.-]*X{3,}[\w.-]*")
_DRAWN = re.compile(r"(.*[^X]|)(X+)([^X]*)", re.DOTALL)
_COMMAND_CHARS, _MOST_TEMPLATES, _ROUNDS = 20_000, 20, 6
_TEMPLATE_CHARS = 64
"""Longer words are no templates: to look for one would take time with the square of its length."""


@dataclass(frozen=True, slots=True)
class Masking:
    """Rules for volatile text.

    Attributes:
        periods: Periods in which the compared episodes ran: times within them are volatile.
        patterns: Regular expressions for text that the task declares volatile (`volatile_text`).
        templates: Templates of temporary names that commands gave to `mktemp`.
    """

    periods: tuple[Period, ...] = ()
    patterns: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()

    def after(self, command: str) -> Masking:
        """Return the rules after the execution of a command."""
        found = _TEMPLATE.findall(command[:_COMMAND_CHARS]) if "mktemp" in command else []
        short = (template for template in found if len(template) <= _TEMPLATE_CHARS)
        known = dict.fromkeys((*self.templates, *short))
        return replace(self, templates=tuple(known)[:_MOST_TEMPLATES])

    def text(self, text: str) -> str:
        """Return a program's output, with volatile values masked."""
        text = self._declared(text)
        if len(text) > LONGEST_CHARS:
            return text
        text = self._without_temporary_names(text)
        return _settled(text, lambda text: mask_times(mask_kinds(mask_tables(text)), self.periods))

    def file(self, path: str, content: str) -> str:
        """Return the content of a file, masked with more care: a file may be about anything."""
        if len(content) > LONGEST_CHARS:
            return content
        if re.search(r"(?:\bpid|\.lock)$", path) and content.strip().isdigit():
            return "<pid>"
        content = self._without_temporary_names(content)
        return _settled(
            content, lambda text: mask_times(mask_kinds(text, in_file=True), self.periods)
        )

    def path(self, path: str) -> str:
        """Return the path of a file, with temporary names and times masked."""
        path = self._without_temporary_names(path)
        return mask_times(mask_kinds(path, in_file=True), self.periods)

    def observation(self, seen: Observation) -> Observation:
        """Return an observation, with its text and the texts in its data masked."""

        def mask(value: Any) -> Any:
            if isinstance(value, str):
                return self.text(value)
            if isinstance(value, Mapping):
                return {key: mask(item) for key, item in value.items()}
            if isinstance(value, Sequence):
                return [mask(item) for item in value]
            return value

        return replace(seen, text=mask(seen.text), data=mask(seen.data))

    def _declared(self, text: str) -> str:
        if not self.patterns:
            return text
        return re.sub("|".join(f"(?:{part})" for part in self.patterns), "*", text)

    def _without_temporary_names(self, text: str) -> str:
        for template in self.templates:
            text = _names_of(template).sub("<temp>", text)
        return text


@lru_cache(maxsize=256)
def _names_of(template: str) -> re.Pattern[str]:
    """Return the pattern of the names that `mktemp` makes of a template."""
    parts = _DRAWN.fullmatch(template)
    assert parts is not None, "a template has three X"
    head, drawn, tail = parts.groups()
    return re.compile(rf"{re.escape(head)}[A-Za-z0-9]{{{len(drawn)}}}{re.escape(tail)}")


def command_of(action: Action) -> str:
    """Return all text of an action that a shell or an interpreter executes."""
    return "\n".join(value for value in action.arguments.values() if isinstance(value, str))


def _settled(text: str, mask: Callable[[str], str]) -> str:
    """Mask until nothing changes: a value may only be recognised after its neighbour is masked."""
    for _ in range(_ROUNDS):
        before, text = text, mask(text)
        if text == before:
            break
    return text
