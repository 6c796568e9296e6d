"""Two episodes of every task of a domain: the reference solution, and doing nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym.errors import MissingExtraError, TaskError
from agentgym.task.foreign.tau2.checkout import Checkout
from agentgym.task.foreign.tau2.model import Tau2Task, read_task
from agentgym.task.foreign.tau2.process import DomainProcess
from agentgym.task.foreign.tau2.reward import Raised, Reward, judge
from agentgym.task.foreign.tau2.talk import Talk


@dataclass(frozen=True)
class TaskReplay:
    """What became of one task.

    Attributes:
        id: As the domain names it.
        gold: Reward of the reference solution; None where its world broke.
        noop: Reward of an agent and a user who end the talk at once; None likewise.
        raised: Reference calls that failed.
        broken: What broke the world.
    """

    id: str
    gold: Reward | None = None
    noop: Reward | None = None
    raised: tuple[Raised, ...] = ()
    broken: str = ""

    @property
    def needs_judge(self) -> bool:
        """A language model decides whether the reference solution earns its reward."""
        return self.gold is not None and not self.gold.broken and self.gold.value is None

    @property
    def trouble(self) -> str:
        """Why it could not be judged; empty where it could."""
        return self.broken or (self.gold.broken if self.gold else "")

    def to_json(self) -> dict[str, Any]:
        """Return it for a report."""
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
    """What became of the tasks of one domain.

    Attributes:
        domain: Its name.
        source: File of the tasks, where it is not the one that the domain itself reads.
        tasks: Each task.
        problem: Why the domain cannot be run here; it has no tasks then.
    """

    domain: str
    source: str = ""
    tasks: tuple[TaskReplay, ...] = ()
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it for a report."""
        return {
            "domain": self.domain,
            "source": self.source,
            "problem": self.problem,
            "counts": self.counts(),
            "tasks": [task.to_json() for task in self.tasks],
        }

    def counts(self) -> dict[str, int]:
        """Return how many tasks there are of each kind."""
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
    """Return the tasks of a domain, and the file they are from where it is not the usual one.

    Where the file that the domain reads is absent, the first smaller one beside it stands in.

    Raises:
        TaskError: There is none, or it is broken.
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
        checkout: Where the domain is.
        domain: Its name.
        limit: Only the first so many tasks.
        call_s: Seconds that one call may take.
        heard: Told how far it is: tasks done, tasks in all.
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
    """Make the reference calls, say what has to be said, and return the calls that failed."""
    failed = []
    for gold in task.gold:
        answer = talk.call(gold.name, gold.arguments, gold.requestor)
        if answer.error:
            failed.append(Raised(str(gold), answer.content.removeprefix("Error: ")))
    for text in (task.criteria.communicate_info or ()) if task.criteria else ():
        talk.say(text)
    return failed


def _merged(live: Sequence[Raised], judged: Sequence[Raised]) -> tuple[Raised, ...]:
    """Return the calls that failed in the episode or on the way to the expected end state."""
    known = {one.call for one in judged}
    return (*judged, *(one for one in live if one.call not in known))
