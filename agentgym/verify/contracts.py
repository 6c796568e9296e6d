"""Contracts over the tool calls of an episode, and the first step that broke each contract.

Check pack `trajectory` asks whether a contract held; step graders ask which step broke it. A
forbidden call breaks a contract at its step. A missing call is known only at the end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from agentgym.errors import VerifierError
from agentgym.records import Action, Step
from agentgym.verify import facts as facts_in_text
from agentgym.verify.calls import (
    ARGUMENT_CHARS,
    CallLike,
    call_like,
    pattern_of,
    step_succeeded,
    text_of,
)
from agentgym.verify.values import Bounds, brief

_SHOWN_CHARS = 256 * 2**10
_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a contract held, and what was seen.

    Attributes:
        holds: True if the contract held.
        message: What was seen and what was expected.
        step: Index of the first step that broke it; None if it holds, or if something is missing at
            the end.
    """

    holds: bool
    message: str
    step: int | None = None


TrajectoryContract: TypeAlias = Callable[[Sequence[Step]], Finding]
"""Looks at the steps of an episode; its arguments were validated before."""


def calls(
    tool: str | Sequence[str],
    where: Mapping[str, str] | None = None,
    at_least: int = 1,
    at_most: int | None = None,
    succeeded: bool = False,
    arguments: Mapping[str, object] | None = None,
) -> TrajectoryContract:
    """Demand a number of calls of a tool; the first call too many breaks the contract.

    Raises:
        VerifierError: An argument is invalid.
    """
    call, bounds = _described(tool, where, arguments), Bounds(at_least, at_most)

    def look(steps: Sequence[Step]) -> Finding:
        found = [step for step in steps if call.fits(step, too_long=False)]
        if succeeded:
            found = [step for step in found if step_succeeded(step)]
        over = found[at_most].index if at_most is not None and len(found) > at_most else None
        message = f"{call}: {len(found)} calls, expected {bounds}"
        return Finding(bounds.hold(len(found)), message, over)

    return look


def never_calls(
    tool: str | Sequence[str],
    where: Mapping[str, str] | None = None,
    succeeded: bool = False,
    arguments: Mapping[str, object] | None = None,
) -> TrajectoryContract:
    """Forbid a call; with `succeeded`, failed calls are ignored.

    Raises:
        VerifierError: An argument is invalid.
    """
    call = _described(tool, where, arguments)

    def look(steps: Sequence[Step]) -> Finding:
        for step in steps:
            if call.fits(step, too_long=True) and (step_succeeded(step) or not succeeded):
                said = json.dumps(dict(step.action.arguments), ensure_ascii=False, default=str)
                told = f"{call}: called at step {step.index}: {brief(said)}"
                return Finding(False, told, step.index)
        return Finding(True, f"{call}: never called")

    return look


def order(calls: Sequence[Mapping[str, object]]) -> TrajectoryContract:
    """Demand calls in this order; one step counts for one call.

    If the contract fails, the finding names the first step that made one of the calls too early, if
    any. Such a step alone breaks nothing, since the call could have been repeated.

    Raises:
        VerifierError: An argument is invalid.
    """
    if isinstance(calls, str) or not isinstance(calls, Sequence) or not calls:
        raise VerifierError(f"calls: expected a list of tables, got {calls!r}")
    wanted = [call_like(table) for table in calls]

    def look(steps: Sequence[Step]) -> Finding:
        made, early = 0, None
        for step in steps:
            if made == len(wanted):
                break
            if wanted[made].fits(step, too_long=False):
                made += 1
            elif early is None and any(c.fits(step, too_long=False) for c in wanted[made + 1 :]):
                early = step.index
        told = f"{made} of {len(wanted)} calls made in order"
        if made == len(wanted):
            return Finding(True, told)
        after = f" after the {made} before it" if made else ""
        return Finding(False, f"{told}; {wanted[made]} was not made{after}", early)

    return look


def looked_first(
    looks: Sequence[Mapping[str, object]], acts: Sequence[Mapping[str, object]]
) -> TrajectoryContract:
    """Demand that everything was looked at before the first acting call, or before the end.

    The acting call breaks the contract. Text in that call before the act counts as a look. Text
    that a call shows counts only if the agent had not written it there before.

    Raises:
        VerifierError: An argument is invalid.
    """
    for name, tables in (("looks", looks), ("acts", acts)):
        if isinstance(tables, str) or not isinstance(tables, Sequence) or not tables:
            raise VerifierError(f"{name}: expected a list of tables, got {tables!r}")
    wanted, calls = [_look(table) for table in looks], [call_like(table) for table in acts]

    def look(steps: Sequence[Step]) -> Finding:
        missing, acted, typed = wanted, None, ""
        for step in steps:
            at = min((c.place(step) for c in calls if c.fits(step, too_long=True)), default=None)
            texts = [text_of(value) for value in step.action.arguments.values()]
            typed = "\n".join([typed, *texts])
            look = _Sight(
                said=[text[:ARGUMENT_CHARS][:at] for text in texts],
                seen=step.observation.text[:_SHOWN_CHARS],
                typed=typed,
                acts=at is not None,
            )
            missing = [one for one in missing if not one.found(look)]
            if at is not None:
                acted = step.index
                break
        when = "the end" if acted is None else f"step {acted} acted"
        if not missing:
            return Finding(True, f"everything was looked at before {when}")
        told = f"not looked at before {when}: {'; '.join(map(str, missing))}"
        return Finding(False, told, acted)

    return look


def mentions(
    tool: str,
    argument: str,
    facts: Sequence[object] = (),
    forbids: Sequence[object] = (),
    may: Sequence[object] = (),
    only: Sequence[str] = (),
    most_chars: int = 4000,
) -> TrajectoryContract:
    """Demand that all calls of a tool together state these facts.

    The call that states too much breaks the contract.

    Raises:
        VerifierError: An argument is invalid.
    """
    wanted = facts_in_text.mentions(facts, forbids, may, only, most_chars)
    if not isinstance(argument, str) or not argument:
        raise VerifierError(f"argument: expected the name of an argument, got {argument!r}")
    call = call_like({"tool": tool})

    def look(steps: Sequence[Step]) -> Finding:
        speaking = [s for s in steps if call.fits(s, too_long=False) and step_succeeded(s)]
        said, over = "", None
        for step in speaking:
            text = str(step.action.arguments.get(argument, ""))
            said = f"{said}\n{text}" if said else text
            if over is None and wanted.excess(said):
                over = step.index
        fault = wanted.fault(said)
        told = f"{len(speaking)} calls of {tool}: {fault or 'say what is asked for'}; {brief(said)}"
        return Finding(not fault, told, over)

    return look


def budget(steps: int | None = None, tokens: int | None = None) -> TrajectoryContract:
    """Limit the steps and the tokens of the episode, prompt and completion together.

    Raises:
        VerifierError: An argument is invalid.
    """
    if steps is None and tokens is None:
        raise VerifierError("budget: expected steps, tokens or both")
    given = {"steps": steps, "tokens": tokens}
    limits = {name: _count(name, limit) for name, limit in given.items() if limit is not None}

    def look(steps: Sequence[Step]) -> Finding:
        spent = {"steps": 0, "tokens": 0}
        first: int | None = None
        for step in steps:
            spent["steps"] += 1
            spent["tokens"] += step.decision.usage.total
            if first is None and any(spent[name] > limit for name, limit in limits.items()):
                first = step.index
        over = any(spent[name] > limit for name, limit in limits.items())
        said = [f"{spent[name]} of {limit} {name}" for name, limit in limits.items()]
        return Finding(not over, ", ".join(said), first)

    return look


def no_repeats(times: int = 3) -> TrajectoryContract:
    """Limit how many times in a row an action may be repeated without a change.

    Raises:
        VerifierError: An argument is invalid.
    """
    if _count("times", times) < 2:
        raise VerifierError(f"times: expected at least 2, got {times}")

    def look(steps: Sequence[Step]) -> Finding:
        for step, row in zip(steps, rows_without_change(steps), strict=True):
            if row >= times:
                first = step.index - times + 1
                said = f"{step.action.tool} called {times} times alike from step {first} on"
                return Finding(False, said, step.index)
        return Finding(True, f"nothing was repeated {times} times")

    return look


def rows_without_change(steps: Sequence[Step]) -> list[int]:
    """Return for every step how many times in a row its action has changed nothing so far.

    A step that changed something, as far as its surface can tell, counts 0 and starts a new count.
    """
    rows: list[int] = []
    row, last = 0, None
    for step in steps:
        action = action_key(step.action)
        changed = step.observation.effect == "changed"
        row = 0 if changed else row + 1 if action == last else 1
        last = None if changed else action
        rows.append(row)
    return rows


def action_key(action: Action) -> tuple[str, str]:
    """Return a key that is equal for actions with the same tool and arguments."""
    return action.tool, json.dumps(action.arguments, sort_keys=True, default=str)


@dataclass(frozen=True)
class _Sight:
    """The text of one step; `typed` is the text of all calls so far."""

    said: Sequence[str]
    seen: str
    typed: str
    acts: bool


@dataclass(frozen=True)
class _Look:
    """The proof that something was looked at: a call named it, a call showed it, or both."""

    named: re.Pattern[str] | None = None
    shown: re.Pattern[str] | None = None
    both: bool = False

    def __str__(self) -> str:
        parts = [one.pattern for one in (self.named, self.shown) if one is not None]
        return (" named and shown: " if self.both else " or ").join(parts)

    def found(self, sight: _Sight) -> bool:
        """Return whether a step names it, or shows it; with `both`, one step has to do both."""
        named = self.named is not None and any(self.named.search(text) for text in sight.said)
        if self.both:
            return named and self._is_shown(sight)
        # The acting call may show its own effect. Only what it says before counts as a look.
        return named or (not sight.acts and self._is_shown(sight))

    def _is_shown(self, sight: _Sight) -> bool:
        """Return whether the pattern occurs in text that the agent did not write itself."""
        if self.shown is None:
            return False
        distinct = dict.fromkeys(match[0] for match in self.shown.finditer(sight.seen))
        return any(text and text not in sight.typed for text in islice(distinct, _MOST_SHOWN))


def _look(table: Mapping[str, object]) -> _Look:
    if not isinstance(table, Mapping) or not set(table) <= {"named", "shown", "both"}:
        raise VerifierError(f"a look is a table of named, shown and both, got {table!r}")
    texts = {name: table[name] for name in ("named", "shown") if name in table}
    both = table.get("both", False)
    if not isinstance(both, bool) or not texts or (both and len(texts) < 2):
        raise VerifierError(f"a look has named or shown, for both = true the two; got {table!r}")
    patterns = {name: pattern_of(f"looks.{name}", text) for name, text in texts.items()}
    return _Look(**patterns, both=both)


def _described(
    tool: object, where: Mapping[str, str] | None, arguments: Mapping[str, object] | None
) -> CallLike:
    return call_like({"tool": tool, "where": where or {}, "arguments": arguments or {}})


def _count(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise VerifierError(f"{name}: expected a whole number >= 0, got {value!r}")
    return value
