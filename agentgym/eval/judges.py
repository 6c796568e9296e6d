"""Checks the judge of a run: whether it is needed, available, and unrelated to the agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agentgym.errors import AgentGymError
from agentgym.eval.settings import Settings
from agentgym.task.model import Task
from agentgym.verify.judge.family import kinship
from agentgym.verify.judge.judged_checks import judged_checks
from agentgym.verify.judge.opening import HOW, open_judge


def judged_tasks(tasks: Iterable[Task]) -> dict[str, str]:
    """Return, by task id, the first check that needs a judge, for tasks that have one.

    Raises:
        VerifierError: A rubric cannot be read.
    """
    # A task of another format has no rubric.
    own = [task for task in tasks if task.foreign is None]
    asked = {task.id: judged_checks(task.folder / "checks", demanded=True) for task in own}
    return {task_id: uses[0] for task_id, uses in asked.items() if uses}


def judge_problems(spec: str, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield the reasons why a run cannot be judged.

    Args:
        spec: Spec of the judge, empty if no judge is set.
        tasks: The tasks that can be loaded.
    """
    if spec:
        try:
            open_judge(spec)
        except AgentGymError as error:
            yield str(error)
    elif asked := judged_tasks(tasks):
        (task_id, use), *more = asked.items()
        others = f" and {len(more)} more" if more else ""
        yield f"a judge is needed by {task_id}{others} ({use}), and none is set; {HOW}"


def kinship_warnings(settings: Settings) -> list[str]:
    """Return a warning for every agent of a run that is related to its judge."""
    if not settings.judge:
        return []
    return [warning for agent in settings.agents if (warning := kinship(settings.judge, agent))]
