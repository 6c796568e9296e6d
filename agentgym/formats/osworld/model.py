"""The models of an OSWorld task: set-up steps, and the evaluator with its getters and metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agentgym.errors import TaskError
from agentgym.formats.osworld.metrics.registry import INFEASIBLE

BROKEN: Final = (
    *(LookupError, TypeError, ValueError, AttributeError),
    *(OverflowError, RecursionError),
)
"""The exceptions of code that reads the fields of a task and finds another form."""


class SetupStep(BaseModel):
    """One step before the episode, or between the agent's last action and its grading.

    Attributes:
        type: What is done.
        parameters: How.
    """

    model_config = ConfigDict(frozen=True)

    type: str
    parameters: dict[str, Any] = Field(default_factory=dict)


class Getter(BaseModel):
    """A way to read a value.

    Attributes:
        type: Name of the getter; every other field is its own.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str

    @property
    def fields(self) -> Mapping[str, Any]:
        """Everything but the type."""
        return self.model_extra or {}


class _Evaluator(BaseModel):
    """As it is written: one metric, or lists of equal length."""

    model_config = ConfigDict(frozen=True)

    func: str | list[str] = Field(min_length=1)
    conj: Literal["and", "or"] = "and"
    result: dict[str, Any] | list[dict[str, Any] | None] | None = None
    expected: dict[str, Any] | list[dict[str, Any] | None] | None = None
    options: dict[str, Any] | list[dict[str, Any] | None] | None = None
    postconfig: list[SetupStep] = []

    @model_validator(mode="after")
    def _checks(self) -> Self:
        count = 1 if isinstance(self.func, str) else len(self.func)
        for name in ("result", "expected", "options"):
            value = getattr(self, name)
            if isinstance(value, list) and (isinstance(self.func, str) or len(value) != count):
                raise ValueError(f"func names {count} metrics, but {name} has {len(value)} entries")
        return self


class _Written(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    instruction: str = Field(min_length=1)
    config: list[SetupStep] = []
    related_apps: list[str] = []
    evaluator: _Evaluator


@dataclass(frozen=True)
class Measure:
    """One metric with what it compares.

    Attributes:
        metric: Its name.
        result: How the agent's side is read; None if the metric needs none.
        expected: How the right side is read; None if the metric needs none.
        options: Further arguments of the metric.
    """

    metric: str
    result: Getter | None
    expected: Getter | None
    options: Mapping[str, Any]

    @property
    def getters(self) -> tuple[Getter, ...]:
        """Its getters."""
        return tuple(one for one in (self.result, self.expected) if one is not None)


@dataclass(frozen=True)
class OSWorldTask:
    """A task.

    Attributes:
        id: Its id.
        domain: Folder that it lies in, such as ``libreoffice_calc``.
        instruction: What the agent is told.
        config: Steps before the episode.
        applications: Applications that it is about, as they are written.
        measures: Its metrics; empty if the task cannot be done.
        conj: Whether all metrics count, or the best.
        postconfig: Steps before the grading.
        raw: Its JSON.
    """

    id: str
    domain: str
    instruction: str
    config: tuple[SetupStep, ...]
    applications: tuple[str, ...]
    measures: tuple[Measure, ...]
    conj: Literal["and", "or"]
    postconfig: tuple[SetupStep, ...]
    raw: Mapping[str, Any]

    @property
    def is_infeasible(self) -> bool:
        """Whether giving up is the right answer."""
        return not self.measures


def read_task(data: bytes, domain: str) -> OSWorldTask:
    """Return a task.

    Args:
        data: Its JSON.
        domain: Folder that it lies in.

    Raises:
        TaskError: The data is not a valid task.
    """
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise TaskError(f"an OSWorld task in {domain} is not JSON: {error}") from None
    name = str(raw.get("id", "?"))[:80] if isinstance(raw, dict) else "?"
    try:
        written = _Written.model_validate(raw)
        measures = _measures(written.evaluator)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"]))[:200]
        raise TaskError(f"OSWorld task {name!r}: {where}: {problem['msg']}") from None
    return OSWorldTask(
        id=written.id,
        domain=domain,
        instruction=written.instruction,
        config=tuple(written.config),
        applications=tuple(written.related_apps),
        measures=measures,
        conj=written.evaluator.conj,
        postconfig=tuple(written.evaluator.postconfig),
        raw=raw,
    )


def _measures(written: _Evaluator) -> tuple[Measure, ...]:
    names = [written.func] if isinstance(written.func, str) else written.func
    if INFEASIBLE in names:
        return ()
    columns = (
        _column(part, len(names)) for part in (written.result, written.expected, written.options)
    )
    return tuple(
        Measure(name, _getter(result), _getter(expected), options or {})
        for name, result, expected, options in zip(names, *columns, strict=True)
    )


def _column(part: Any, count: int) -> Sequence[Any]:
    return part if isinstance(part, list) else [part] * count


def _getter(written: Mapping[str, Any] | None) -> Getter | None:
    return Getter.model_validate(written) if written else None
