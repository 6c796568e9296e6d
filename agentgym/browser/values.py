"""Values that an environment reads from its own page: the state by which an episode is judged.

The expressions come from `env.toml` and run in the page's own world, because they read the page's
variables. The agent sees neither them nor their values. Another page may have variables of the same
names, and an agent can open it: values are read from the pages of the first one's site only, and
where `init` prepares the first page, only from documents that it has prepared.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from agentgym.browser.tab import PageBusyError, PageGoneError, Tab
from agentgym.records import Json
from agentgym.records.bounds import flaw_of

_CHARS: Final = 10_000


class PageValues:
    """Named values of a page; a value that was seen stays until another one is.

    Args:
        expressions: Expressions of JavaScript, by name.
        until: Name of the value that, once true, keeps all values and ends the episode; empty
            if none does.

    Attributes:
        values: The values that were last seen; null before.
        ended: Whether the value `until` was true.
    """

    def __init__(self, expressions: Mapping[str, str], until: str) -> None:
        self._expressions, self._until = dict(expressions), until
        self.values: dict[str, Json] = dict.fromkeys(expressions)
        self.ended = False

    @property
    def wanted(self) -> bool:
        """Whether there are values to read."""
        return bool(self._expressions) and not self.ended

    async def read(self, tab: Tab) -> None:
        """Read the values from a page; those that cannot be had stay as they are."""
        for name, text in await _values(tab, self._expressions):
            value = _parsed(text)
            if value is not None:
                self.values[name] = value
        self.ended = bool(self._until and self.values.get(self._until))


async def _values(tab: Tab, expressions: Mapping[str, str]) -> list[tuple[str, Any]]:
    """Return the values as JSON text, by name; those that cannot be had are null."""
    parts = [
        f"(() => {{ try {{ return String(JSON.stringify(({expression}) ?? null))"
        f".slice(0, {_CHARS}); }} catch {{ return null; }} }})()"
        for expression in expressions.values()
    ]
    try:
        answer = await tab.send(
            "Runtime.evaluate", expression=f"[{', '.join(parts)}]", returnByValue=True
        )
    except (PageBusyError, PageGoneError):
        return []
    found = answer["result"].get("value")
    return list(zip(expressions, found, strict=True)) if isinstance(found, list) else []


def _parsed(text: object) -> Json:
    """Return a value; None for one that is no JSON, is too long or cannot be recorded."""
    # A page may replace the functions that cut it and write it.
    if not isinstance(text, str) or len(text) > _CHARS:
        return None
    try:
        value: Json = json.loads(text, parse_constant=lambda _: None)
        if flaw_of(value):
            return None
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


async def evaluate(tab: Tab, expression: str) -> str:
    """Evaluate an expression in a page and wait for its promise.

    Returns:
        Why it failed; empty if it did not.
    """
    try:
        answer = await tab.send("Runtime.evaluate", expression=expression, awaitPromise=True)
    except (PageBusyError, PageGoneError) as error:
        return f"init: {error}"
    failure = answer.get("exceptionDetails")
    if failure is None:
        return ""
    said = failure.get("exception", {}).get("description", failure["text"])
    return f"init: {str(said).splitlines()[0][:300]}"
