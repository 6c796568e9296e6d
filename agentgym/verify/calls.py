"""Descriptions of tool calls: the tool, patterns in the texts of arguments, argument values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.errors import VerifierError
from agentgym.records import Step
from agentgym.records.pattern import fits_glob
from agentgym.verify import matching
from agentgym.verify.matching import Matcher

ARGUMENT_CHARS: Final = 64 * 2**10
"""Maximum length of an argument's text, in characters; a longer text is not searched."""


def step_succeeded(step: Step) -> bool:
    """Whether a step was neither an error nor ended by a timeout."""
    return step.observation.effect not in ("error", "timeout")


@dataclass(frozen=True)
class CallLike:
    """A description that a tool call matches or does not match.

    Attributes:
        tools: Names or globs; the tool has to match one of them.
        where: Pattern by argument name; it has to occur in the argument's text.
        arguments: Expected value by argument name.
    """

    tools: Sequence[str]
    where: Mapping[str, re.Pattern[str]]
    arguments: Mapping[str, Matcher]

    def __str__(self) -> str:
        parts = [f"{name} ~ {pattern.pattern}" for name, pattern in self.where.items()]
        parts += [f"{name} {wanted}" for name, wanted in self.arguments.items()]
        return f"{' or '.join(self.tools)}({', '.join(parts)})"

    def fits(self, step: Step, *, too_long: bool) -> bool:
        """Return whether a step matches; an argument that is too long counts as `too_long`."""
        if not any(fits_glob(step.action.tool, tool) for tool in self.tools):
            return False
        if not matching.fits(step.action.arguments, self.arguments):
            return False
        return all(
            self._found(pattern, step.action.arguments, name, too_long)
            for name, pattern in self.where.items()
        )

    def place(self, step: Step) -> int:
        """Return the offset in the text at which a step matches; 0 without patterns."""
        found = [
            match.start()
            for name, pattern in self.where.items()
            if (match := pattern.search(text_of(step.action.arguments[name])[:ARGUMENT_CHARS]))
        ]
        return max(found, default=0)

    def _found(
        self, pattern: re.Pattern[str], arguments: Mapping[str, object], name: str, too_long: bool
    ) -> bool:
        if name not in arguments:
            return False
        text = text_of(arguments[name])
        return too_long if len(text) > ARGUMENT_CHARS else pattern.search(text) is not None


def call_like(table: Mapping[str, object]) -> CallLike:
    """Read the description of a call from a rubric: `tool`, `where` and `arguments`.

    Raises:
        VerifierError: A field does not have the expected form.
    """
    if not isinstance(table, Mapping) or not set(table) <= {"tool", "where", "arguments"}:
        raise VerifierError(f"a call is a table of tool and where or arguments, got {table!r}")
    tool, where = table.get("tool"), table.get("where", {})
    tools = [tool] if isinstance(tool, str) else tool
    named = isinstance(tools, Sequence) and all(isinstance(t, str) and t for t in tools)
    if not tools or not named or not isinstance(where, Mapping):
        raise VerifierError(f"a call needs a tool and may have a table where, got {table!r}")
    patterns = {name: pattern_of(f"where.{name}", pattern) for name, pattern in where.items()}
    assert isinstance(tools, Sequence)
    return CallLike(
        [str(name) for name in tools],
        patterns,
        matching.matchers("arguments", table.get("arguments", {})),
    )


def text_of(value: object) -> str:
    """Return the text of an argument; a value that is not a string is written as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def pattern_of(what: str, pattern: object) -> re.Pattern[str]:
    """Compile a regular expression of a rubric.

    Raises:
        VerifierError: It is not a valid regular expression.
    """
    try:
        return re.compile(pattern, re.MULTILINE)  # type: ignore[call-overload, no-any-return]
    except (re.error, TypeError) as error:
        raise VerifierError(f"{what} = {pattern!r}: {error}") from None
