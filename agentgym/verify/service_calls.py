"""Calls of services as steps for contracts, taken from the audit and not from the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym.errors import VerifierError
from agentgym.records import Action, AuditEntry, Decision, Effect, Observation, Step
from agentgym.verify.calls import CallLike, call_like, step_succeeded
from agentgym.verify.matching import normal
from agentgym.verify.rows import check_actor
from agentgym.verify.values import brief

_RESULT_CHARS = 256 * 2**10


def calls_as_steps(calls: Sequence[AuditEntry], *actors: str) -> list[Step]:
    """Return the calls of some actors; a step's index is the number of the call in the audit.

    Raises:
        VerifierError: An actor does not exist.
    """
    for actor in actors:
        check_actor(actor)
    return [_as_step(one) for one in calls if one.actor in actors or "anyone" in actors]


def _as_step(entry: AuditEntry) -> Step:
    effect = Effect.CHANGED if entry.changed else Effect.NO_CHANGE
    seen = Observation(entry.result_json, effect=effect if entry.ok else Effect.ERROR)
    return Step(entry.sequence, Decision(Action(entry.tool, entry.arguments)), seen)


@dataclass(frozen=True, slots=True)
class Reading:
    """A description of a reading call.

    Attributes:
        call: Description of the call.
        shows: Text that occurs in the result, compared by `normal`; empty for any result.
    """

    call: CallLike
    shows: str

    def __str__(self) -> str:
        return f"{self.call} showing {self.shows!r}" if self.shows else str(self.call)

    def is_made_by(self, entry: AuditEntry, step: Step) -> bool:
        """Return whether a call matches the description."""
        if entry.changed or not step_succeeded(step) or not self.call.fits(step, too_long=False):
            return False
        if not self.shows:
            return True
        said = normal("\n".join(_texts(entry.arguments)))
        return self.shows not in said and any(
            self.shows in normal(text) for text in _texts(entry.result)
        )


def reading(table: object) -> Reading:
    """Read the description of a reading from a rubric: `tool` (default: any), `arguments`, `shows`.

    Raises:
        VerifierError: A field does not have the expected form.
    """
    known = {"tool", "where", "arguments", "shows"}
    if not isinstance(table, Mapping) or not table or not set(table) <= known:
        raise VerifierError(f"a reading is a table of tool, arguments and shows, got {table!r}")
    shows = table.get("shows", "")
    shows = shows if isinstance(shows, str) else brief(shows)
    rest = {name: value for name, value in table.items() if name != "shows"}
    return Reading(call_like({"tool": "*", **rest}), normal(shows))


def unread_before_acting(
    calls: Sequence[AuditEntry], readings: Sequence[Reading], acts: Sequence[CallLike]
) -> tuple[list[Reading], AuditEntry | None]:
    """Return the readings that were missing before the agent acted, and the acting call.

    Args:
        calls: The audit.
        readings: The demanded readings.
        acts: Descriptions of acting calls, successful or not; empty: the first that changed a row.
    """
    missing = list(readings)
    for entry in calls:
        if entry.actor != "agent":
            continue
        step = _as_step(entry)
        acted = any(act.fits(step, too_long=True) for act in acts) if acts else entry.changed
        if acted:
            return missing, entry
        missing = [one for one in missing if not one.is_made_by(entry, step)]
    return missing, None


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, and its other values as JSON."""
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)[:_RESULT_CHARS]
