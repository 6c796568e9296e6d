"""Models of a tau2-bench task: scenario, initial state, and the parts of its reward."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentgym.errors import TaskError

Side = Literal["assistant", "user"]
Part = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]


class _Table(BaseModel):
    """A table of a foreign format, in which unknown fields are allowed."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class GoldAction(_Table):
    """A call of the reference solution.

    Attributes:
        compare_args: Arguments that the ACTION part compares; None for those of the call.
    """

    action_id: str = ""
    requestor: Side = "assistant"
    name: str
    arguments: dict[str, Any]
    compare_args: tuple[str, ...] | None = None

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.name}({given})"


class Criteria(_Table):
    """The criteria of a task; the reward is the product of the parts of `reward_basis`."""

    actions: tuple[GoldAction, ...] | None = None
    env_assertions: tuple[dict[str, Any], ...] | None = None
    communicate_info: tuple[str, ...] | None = None
    nl_assertions: tuple[str, ...] | None = None
    reward_basis: tuple[Part, ...] = ("DB", "COMMUNICATE")


class InitialState(_Table):
    """Start of an episode; further fields are for the checkout's own Python."""

    message_history: tuple[dict[str, Any], ...] | None = None


class _Written(_Table):
    id: str
    user_scenario: dict[str, Any] = Field(default_factory=dict)
    ticket: str | None = None
    initial_state: InitialState | None = None
    evaluation_criteria: Criteria | None = None
    user_tools: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Tau2Task:
    """One task.

    Attributes:
        id: Id of the task in its domain.
        raw: The whole task, for the checkout's own Python.
        scenario: Instructions of the user.
        history: Messages exchanged before the episode.
        criteria: Criteria of the reward; None if every episode passes.
        user_tools: Names of the user's tools in this task, None for all of the domain.
    """

    id: str
    raw: Mapping[str, Any]
    scenario: Mapping[str, Any]
    history: tuple[Mapping[str, Any], ...]
    criteria: Criteria | None
    user_tools: tuple[str, ...] | None

    @property
    def gold(self) -> tuple[GoldAction, ...]:
        """Calls of the reference solution."""
        return (self.criteria.actions or ()) if self.criteria else ()

    @property
    def judged_by_model(self) -> tuple[str, ...]:
        """Sentences whose truth a language model has to decide."""
        if self.criteria is None or "NL_ASSERTION" not in self.criteria.reward_basis:
            return ()
        return self.criteria.nl_assertions or ()

    @property
    def logged_reads(self) -> frozenset[str]:
        """Names of tools whose calls tau2-bench keeps in the state although they only read."""
        return frozenset(
            str(action.arguments["agent_tool_name"])
            for action in self.gold
            if action.name == "call_discoverable_agent_tool"
            and "agent_tool_name" in action.arguments
        )


def read_task(raw: Mapping[str, Any]) -> Tau2Task:
    """Return a task.

    Raises:
        TaskError: The object is not a valid task.
    """
    try:
        written = _Written.model_validate(raw)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise TaskError(f"tau2 task {raw.get('id', '?')!r}: {where}: {problem['msg']}") from error
    start = written.initial_state
    return Tau2Task(
        id=written.id,
        raw=raw,
        scenario=written.user_scenario,
        history=(start and start.message_history) or (),
        criteria=written.evaluation_criteria,
        user_tools=written.user_tools,
    )
