"""Turns the customer of a tau2 task into a simulated user, from its scenario and its solution.

A model plays the customer from the scenario. Without a model the customer tells their case and
does, message by message, what the reference solution requires of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from agentgym.formats.tau2.model import GoldAction, Tau2Task
from agentgym.records import Action
from agentgym.task.user import Deed, Rule, State, UserScript

_PATIENCE = 1000
_PROMPT = "Please go on with your part."
_DONE = "Done."
_OPENERS = ("reason_for_call", "known_info")


def customer_script(task: Tau2Task, tools: tuple[str, ...]) -> UserScript:
    """Return the script of the customer.

    Args:
        task: The task.
        tools: Names of the tools that a user of the domain has.
    """
    turns = [group for side, group in _groups(task) if side == "user"]
    states = [
        State(id=f"turn-{number}", rule=(_rule(task, group, number),))
        for number, group in enumerate(turns)
    ]
    last = Rule(say=(_case(task) if not turns else "That is all from me.",))
    named = tools if task.user_tools is None else [t for t in tools if t in task.user_tools]
    return UserScript(
        schema_version="agentgym.user/1",
        name="the customer",
        persona=_plain(task.scenario.get("persona") or "") or None,
        goal=_scenario(task.scenario.get("instructions")) or "You are a customer.",
        tools=tuple(named),
        patience=_PATIENCE,
        state=(*states, State(id=f"turn-{len(turns)}", rule=(last,))),
    )


def reference_actions(task: Tau2Task) -> Iterator[Action]:
    """Yield the agent's part of the reference solution: a message before each customer's turn."""
    for side, group in _groups(task):
        if side == "user":
            yield Action("message_user", {"text": _PROMPT})
        else:
            yield from (Action(gold.name, gold.arguments) for gold in group)
    said = (task.criteria.communicate_info or ()) if task.criteria else ()
    yield Action("submit", {"answer": "\n".join(said)})


def _groups(task: Tau2Task) -> list[tuple[str, list[GoldAction]]]:
    """Return the reference solution in turns: the side, and its actions in the turn."""
    return [(side, list(calls)) for side, calls in groupby(task.gold, lambda one: one.requestor)]


def _rule(task: Tau2Task, group: list[GoldAction], number: int) -> Rule:
    deeds = [Deed.model_validate({"tool": one.name, "with": one.arguments}) for one in group]
    say = _DONE if number else f"{_case(task)}\n{_DONE}"
    return Rule(do=tuple(deeds), say=(say,), to=f"turn-{number + 1}")


def _case(task: Tau2Task) -> str:
    """Return the customer's description of their case."""
    told = task.scenario.get("instructions")
    if not isinstance(told, Mapping):
        return _plain(told or "") or "Hello."
    return "\n".join(_plain(told[key]) for key in _OPENERS if told.get(key)) or "Hello."


def _scenario(told: Any) -> str:
    """Return the whole scenario of the customer, a section for each field."""
    if not isinstance(told, Mapping):
        return _plain(told or "")
    sections = [f"{key.replace('_', ' ')}: {_plain(value)}" for key, value in told.items() if value]
    return "\n\n".join(sections)


def _plain(text: object) -> str:
    """Return a text in which no part can be taken for a slot."""
    return str(text).strip().replace("{{", "{ {")
