"""Plays two episodes of every task of a domain: the reference solution, and inaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym.errors import MissingExtraError, TaskError
from agentgym.formats.tau2.checkout import Checkout
from agentgym.formats.tau2.model import Tau2Task, read_task
from agentgym.formats.tau2.process import DomainProcess
from agentgym.formats.tau2.reward import Raised, Reward, judge
from agentgym.formats.tau2.talk import Talk


@dataclass(frozen=True)
class TaskReplay:
    """The result of one task.

    Attributes:
        id: Id of the task in its domain.
        gold: Reward of the reference solution; None if its world broke.
        noop: Reward of an agent and a user who end the talk at once; None if its world broke.
        raised: Reference calls that failed.
        broken: Reason why the world broke.
    """

    id: str
    gold: Reward | None = None
    noop: Reward | None = None
    raised: tuple[Raised, ...] = ()
    broken: str = ""

    @property
    def needs_judge(self) -> bool:
        """Whether a language model decides if the reference solution earns its reward."""
        return self.gold is not None and not self.gold.broken and self.gold.value is None

    @property
    def trouble(self) -> str:
        """Reason why it could not be judged; empty if it could."""
        return self.broken or (self.gold.broken if self.gold else "")

    def to_json(self) -> dict[str, Any]:
        """Return the result for a report."""
        return {
            "id": self.id,
            "gold": None if self.gold is None else self.gold.value,
            "gold_parts": {} if self.gold is None else dict(self.gold.parts),
            "noop": None if self.noop is None else self.noop.value,
            "noop_trouble": self.noop.broken if self.noop else "",
            "needs_judge": self.needs_judge,
            "raised": [{"call": one.call, "error": one.error} for one in self.raised],
            "trouble": self.trouble,
        }


@dataclass(frozen=True)
class DomainReplay:
    """The results of the tasks of one domain.

    Attributes:
        domain: Name of the domain.
        source: File of the tasks, if the domain itself reads another one.
        tasks: Results of the tasks.
        problem: Reason why the domain cannot be run here; it then has no tasks.
    """

    domain: str
    source: str = ""
    tasks: tuple[TaskReplay, ...] = ()
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the results for a report."""
        return {
            "domain": self.domain,
            "source": self.source,
            "problem": self.problem,
            "counts": self.counts(),
            "tasks": [task.to_json() for task in self.tasks],
        }

    def counts(self) -> dict[str, int]:
        """Return the number of tasks of each kind."""
        gold = [task.gold.value if task.gold else None for task in self.tasks]
        noop = [task.noop.value if task.noop else None for task in self.tasks]
        return {
            "tasks": len(self.tasks),
            "gold_1": gold.count(1.0),
            "gold_0": gold.count(0.0),
            "needs_judge": sum(task.needs_judge for task in self.tasks),
            "trouble": sum(bool(task.trouble) for task in self.tasks),
            "raised_calls": sum(len(task.raised) for task in self.tasks),
            "noop_1": noop.count(1.0),
        }


def read_tasks(process: DomainProcess) -> tuple[list[Tau2Task], str]:
    """Return the tasks of a domain, and their file if it is not the usual one.

    If the file that the domain reads is absent, the first smaller one beside it replaces it.

    Raises:
        TaskError: The domain has no task file, or the file is broken.
    """
    try:
        found, source = process.tasks(), ""
    except TaskError as error:
        others = process.checkout.other_tasks(process.domain)
        if not others or "absent" not in str(error):
            raise
        found, source = process.tasks(others[0]), others[0].name
    return [read_task(raw) for raw in found], source


def replay_domain(
    checkout: Checkout,
    domain: str,
    *,
    limit: int | None = None,
    call_s: float,
    heard: Callable[[int, int], None] = lambda done, total: None,
) -> DomainReplay:
    """Replay the tasks of a domain.

    Args:
        checkout: Checkout that holds the domain.
        domain: Name of the domain.
        limit: Number of tasks to replay, from the first; None for all.
        call_s: Longest time for one call, in seconds.
        heard: Called with the progress: tasks done, tasks in all.
    """
    try:
        with DomainProcess(checkout, domain, call_s=call_s) as process:
            tasks, source = read_tasks(process)
            tasks = tasks[:limit]
            done = []
            for number, task in enumerate(tasks):
                heard(number, len(tasks))
                done.append(replay_task(process, task))
            return DomainReplay(domain, source, tuple(done))
    except (TaskError, MissingExtraError) as error:
        return DomainReplay(domain, problem=str(error))


def replay_task(process: DomainProcess, task: Tau2Task) -> TaskReplay:
    """Play the reference solution of a task, then nothing, and judge both."""
    try:
        noop = judge(process, task, task.history)
        with process.world() as world:
            talk = Talk(world, task)
            failed = _play(talk, task)
        gold = judge(process, task, talk.messages)
    except TaskError as error:
        return TaskReplay(task.id, broken=str(error))
    return TaskReplay(task.id, gold, noop, _merged(failed, gold.raised))


def _play(talk: Talk, task: Tau2Task) -> list[Raised]:
    """Make the reference calls, send the required messages, and return the calls that failed."""
    failed = []
    for gold in task.gold:
        answer = talk.call(gold.name, gold.arguments, gold.requestor)
        if answer.error:
            failed.append(Raised(str(gold), answer.content.removeprefix("Error: ")))
    for text in (task.criteria.communicate_info or ()) if task.criteria else ():
        talk.say(text)
    return failed


def _merged(live: Sequence[Raised], judged: Sequence[Raised]) -> tuple[Raised, ...]:
    """Return the calls that failed in the episode or while computing the expected end state."""
    known = {one.call for one in judged}
    return (*judged, *(one for one in live if one.call not in known))
