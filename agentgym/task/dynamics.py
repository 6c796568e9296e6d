"""The tables `[clock]`, `[[event]]` and `[[fault]]` of `task.toml`.

This module defines their fields. `agentgym.env.dynamics` applies them to an episode.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from agentgym.manifest import Manifest

UNTOUCHABLE = ("submit", "give_up")
"""Tools that never fail: an agent can always end its episode."""

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")

Id: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
Text: TypeAlias = Annotated[str, StringConstraints(min_length=1)]


def _time(value: str) -> str:
    try:
        if _TIME.fullmatch(value) and datetime.fromisoformat(value).tzinfo is not None:
            return value
    except ValueError:
        pass
    raise ValueError(f"expected a time in UTC such as '2026-03-02T09:00:00Z', got {value!r}")


def _script(value: str) -> str:
    parts = PurePosixPath(value).parts
    if len(parts) < 2 or parts[0] != "events" or ".." in parts:
        raise ValueError(f"expected a script below events/, e.g. 'events/rotate.sh', got {value!r}")
    return value


class ClockManifest(Manifest):
    """The `[clock]` table: a time that advances only by steps and slow answers.

    Attributes:
        start: Time at which every episode begins.
        step_s: Logical duration of a step in seconds, whatever it really took.
    """

    start: Annotated[str, AfterValidator(_time)] = "2026-03-02T09:00:00Z"
    step_s: float = Field(default=60.0, gt=0, le=1e9)

    @property
    def begins(self) -> datetime:
        """`start` as a time in UTC."""
        return datetime.fromisoformat(self.start).astimezone(UTC)


class EventManifest(Manifest):
    """An `[[event]]` table: a change of the world that is not the agent's.

    Attributes:
        id: Unique among the task's events and faults.
        at_step: Fires after this number of steps; 0 is right after the reset.
        after_s: Fires once this number of seconds of the logical clock has passed.
        when: Fires after the step at which this milestone first held.
        run: A script of the task folder, run as root in the guest; one that ends in ``.py``
            changes the services instead, from the host.
        timeout_s: Longest time for the script, in seconds.
        announce: Text for the agent; if absent, the agent gets no text.
    """

    id: Id
    at_step: int | None = Field(default=None, ge=0)
    after_s: float | None = Field(default=None, ge=0)
    when: Id | None = None
    run: Annotated[str, AfterValidator(_script)] | None = None
    timeout_s: float = Field(default=30.0, gt=0)
    announce: Text | None = None

    @model_validator(mode="after")
    def _one_trigger(self) -> EventManifest:
        triggers = {"at_step": self.at_step, "after_s": self.after_s, "when": self.when}
        given = [name for name, value in triggers.items() if value is not None]
        if len(given) != 1:
            seen = " and ".join(given) or "none"
            raise ValueError(f"expected exactly one of at_step, after_s and when, got {seen}")
        if self.run is None and self.announce is None:
            raise ValueError("it does nothing: expected run = 'events/…', announce = '…' or both")
        return self


class FaultKind(StrEnum):
    """Kinds of faulty answers."""

    ERROR = "error"
    TIMEOUT = "timeout"
    SLOW = "slow"
    GARBLED = "garbled"
    PARTIAL = "partial"


class Point(StrEnum):
    """Whether the tool executed the call before it failed."""

    BEFORE = "before"
    AFTER = "after"


class FaultManifest(Manifest):
    """A `[[fault]]` table: calls of a tool that fail although they are correct.

    Attributes:
        id: Unique among the task's events and faults.
        tool: Name of the tool.
        calls: Numbers of the calls that fail, counted from 1.
        rate: Alternatively, the chance that a call fails, drawn from the seed.
        at_most: Largest number of calls that fail by chance.
        kind: Kind of the faulty answer.
        point: Before the commit (not executed) or after it (executed, the answer is lost).
        message: Text of an error or a timeout.
        delay_s: Logical duration of a slow answer, in seconds.
    """

    id: Id
    tool: Text
    calls: tuple[Annotated[int, Field(ge=1)], ...] | None = None
    rate: float | None = Field(default=None, gt=0, le=1)
    at_most: int | None = Field(default=None, ge=1)
    kind: FaultKind
    point: Point | None = None
    message: Text | None = None
    delay_s: float | None = Field(default=None, gt=0, le=1e9)

    @property
    def is_executed(self) -> bool:
        """Whether the tool executes the call all the same."""
        if self.kind in (FaultKind.ERROR, FaultKind.TIMEOUT):
            return self.point is Point.AFTER
        return True

    @model_validator(mode="after")
    def _is_sound(self) -> FaultManifest:
        if self.tool in UNTOUCHABLE:
            raise ValueError(f"expected a tool of a surface, got {self.tool!r}: it never fails")
        if (self.calls is None) == (self.rate is None):
            raise ValueError("expected either calls = [2, 5] or rate = 0.2")
        if self.calls is not None and (not self.calls or self.at_most is not None):
            raise ValueError("expected the numbers of calls, and at_most only beside rate")
        if self.calls is not None and len(set(self.calls)) < len(self.calls):
            raise ValueError("expected distinct numbers of calls, got one of them twice")
        if self.kind in (FaultKind.ERROR, FaultKind.TIMEOUT):
            if self.delay_s is not None:
                raise ValueError(f"expected delay_s only of a slow answer, not of {self.kind!s}")
            return self
        if self.point is Point.BEFORE:
            raise ValueError(f"expected no point: kind {self.kind!s} comes after the call")
        if self.message is not None:
            raise ValueError(f"expected no message: kind {self.kind!s} keeps the tool's own text")
        if self.delay_s is not None and self.kind is not FaultKind.SLOW:
            raise ValueError(f"expected delay_s only of a slow answer, not of {self.kind!s}")
        return self
