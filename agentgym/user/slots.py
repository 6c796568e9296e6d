"""Slots in the texts and calls of a user: the task's own, and those that a call has filled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgym.records import Json
from agentgym.task.template import fill, fill_json
from agentgym.task.user import RESULT, compile_pattern


class UnfilledError(Exception):
    """The result of a call lacks a part; the text names it."""


@dataclass(frozen=True)
class Slots:
    """Fills texts.

    Args:
        params: Parameters of the instance.
        where: File of the texts, for messages.
        result: Result of the last call.
        error: Reason why it failed.
    """

    params: Mapping[str, Json]
    where: str
    result: Json = None
    error: str = ""

    def text(self, template: str) -> str:
        """Return a text with its slots filled. Raises UnfilledError."""
        pieces, end = [], 0
        for match in RESULT.finditer(template):
            pieces.append(fill(template[end : match.start()], self.params, self.where))
            pieces.append(str(self._made(match[1])))
            end = match.end()
        return "".join([*pieces, fill(template[end:], self.params, self.where)])

    def json(self, template: Json) -> Json:
        """Return a value with every text in it filled. Raises UnfilledError.

        A text that consists of one slot becomes its value, with its type.
        """
        if isinstance(template, str):
            whole = RESULT.fullmatch(template)
            if whole:
                return self._made(whole[1])
            if not RESULT.search(template):
                return fill_json(template, self.params, self.where)
            return self.text(template)
        if isinstance(template, Mapping):
            return {key: self.json(inner) for key, inner in template.items()}
        if isinstance(template, Sequence):
            return [self.json(inner) for inner in template]
        return template

    def object(self, template: Mapping[str, Json]) -> dict[str, Json]:
        """Return an object with every text in it filled. Raises UnfilledError."""
        return {key: self.json(inner) for key, inner in template.items()}

    def patterns(self, templates: Sequence[str]) -> tuple[re.Pattern[str], ...]:
        """Return regular expressions; the value of a slot in them is matched literally."""
        return tuple(
            compile_pattern(fill(template, _escaped(self.params), self.where))
            for template in templates
        )

    def _made(self, slot: str) -> Json:
        if slot == "error":
            return self.error
        found = self.result
        for part in slot.split(".")[1:]:
            if isinstance(found, Mapping) and part in found:
                found = found[part]
            elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            else:
                raise UnfilledError(f"there is no {part!r} in the result")
        return found


def _escaped(params: Mapping[str, Json]) -> dict[str, Json]:
    return {name: _escape(value) for name, value in params.items()}


def _escape(value: Json) -> Json:
    if isinstance(value, Mapping):
        return _escaped(value)
    # Messages are read with single blanks, so the patterns have single blanks, too.
    return r"\s+".join(re.escape(part) for part in str(value).split())
