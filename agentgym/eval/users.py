"""Checks the simulated user of a run: whether it is needed and can answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentgym.errors import AgentGymError
from agentgym.task.model import Task
from agentgym.user.registry import create


def user_problems(spec: str, tasks: Iterable[Task]) -> Iterator[str]:
    """Yield the reasons why the users of tasks cannot answer.

    Args:
        spec: Spec of the user, as in ``--user``; empty if no task has one.
        tasks: The tasks that can be loaded.
    """
    task = next((task for task in tasks if task.user is not None), None)
    if task is None or task.user is None:
        return
    try:
        user = create(spec, task.user, task.instance(0))
        yield from (f"user {spec}: {p.what}; {p.fix}" for p in user.problems())
    except AgentGymError as error:
        yield str(error)
