"""A task of tau2-bench as it is written: who calls about what, and what its reward is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentgym.errors import TaskError

Side = Literal["assistant", "user"]
Part = Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]


class _Table(BaseModel):
    """A table of somebody else's: fields that we do not know are theirs to have."""

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
    """What a task is judged by; the reward is the product of the parts of `reward_basis`."""

    actions: tuple[GoldAction, ...] | None = None
    env_assertions: tuple[dict[str, Any], ...] | None = None
    communicate_info: tuple[str, ...] | None = None
    nl_assertions: tuple[str, ...] | None = None
    reward_basis: tuple[Part, ...] = ("DB", "COMMUNICATE")


class InitialState(_Table):
    """Where an episode begins; the rest of it is for the checkout's own Python."""

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
        id: As the domain names it.
        raw: All of it, for the checkout's own Python.
        scenario: What the user is told.
        history: Messages exchanged before the episode.
        criteria: None where every episode passes.
        user_tools: Names of the tools that the user has here, None for all of the domain.
    """

    id: str
    raw: Mapping[str, Any]
    scenario: Mapping[str, Any]
    history: tuple[Mapping[str, Any], ...]
    criteria: Criteria | None
    user_tools: tuple[str, ...] | None

    @property
    def gold(self) -> tuple[GoldAction, ...]:
        """The calls of the reference solution."""
        return (self.criteria.actions or ()) if self.criteria else ()

    @property
    def judged_by_model(self) -> tuple[str, ...]:
        """Sentences of which a language model has to say whether they hold."""
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
        TaskError: It is not one.
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
