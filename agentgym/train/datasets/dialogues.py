"""Recorded episodes as chat messages with their tools, as a model agent would have read them.

The system prompt, the calls and the results are those of agent ``openai`` (`agentgym.agents`), for
episodes of any agent: a call of the oracle becomes a tool call like one of a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from agentgym import catalogue
from agentgym.agents.batch import place
from agentgym.agents.dialogue import Pictures, opening, render, turns
from agentgym.chat.toolcalls import ChatMessage
from agentgym.env.resolved_task import resolve_task
from agentgym.errors import AgentGymError
from agentgym.records import Briefing, Observation, Step, ToolSpec
from agentgym.rollout.grading import offered_tools
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.task.load import find_task
from agentgym.train.datasets.episodes import RecordedEpisode
from agentgym.train.datasets.faults import replies

_ABSENT_EXPLAINED: Final = 5
"""Number of tasks that no catalogue has, of which each has an error of its own."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the agent in a dialogue.

    Attributes:
        message: The assistant message with its calls.
        results: The messages after it, up to the next reply.
        first: Index of its first step.
        end: Index after its last step.
    """

    message: ChatMessage
    results: tuple[ChatMessage, ...]
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Dialogue:
    """An episode as messages.

    Attributes:
        opening: The system prompt and the instruction.
        replies: The replies and their results, in order.
        several: Whether a reply makes several calls.
    """

    opening: tuple[ChatMessage, ...]
    replies: tuple[Reply, ...]
    several: bool

    def before(self, number: int) -> list[ChatMessage]:
        """Return all messages before a reply."""
        found = list(self.opening)
        for reply in self.replies[:number]:
            found += [reply.message, *reply.results]
        return found


@dataclass(frozen=True, slots=True)
class Interface:
    """The parts of a task that an agent is told.

    Attributes:
        tools: Its tools.
        max_steps: Largest number of steps.
        service_tools: Names of those that belong to its services.
        problem: Why they are unknown, else empty.
    """

    tools: tuple[ToolSpec, ...] = ()
    max_steps: int = 0
    service_tools: frozenset[str] = frozenset()
    problem: str = ""


class Interfaces:
    """Finds the tools of recorded tasks, each task once; nothing is started.

    Args:
        named: The task folders that the user named beside the record.
    """

    def __init__(self, named: Named = NOTHING_NAMED) -> None:
        self._named = named
        self._known: dict[str, Interface] = {}
        self._absent = 0

    def find(self, episode: RecordedEpisode) -> Interface:
        """Return the interface of an episode's task; its `problem` says why it is unknown."""
        name = episode.row.plan.task
        if name not in self._known:
            self._known[name] = self._read(name)
        found, bound = self._known[name], episode.store.settings.get("max_steps")
        if isinstance(bound, int):
            return replace(found, max_steps=bound)
        return found

    @cached_property
    def _listed(self) -> frozenset[str]:
        return frozenset(catalogue.folders("tasks"))

    def _read(self, name: str) -> Interface:
        try:
            task_id = self._named.task(name)
            if catalogue.path_of(task_id) is None and task_id not in self._listed:
                # The error with close matches reads all catalogues, and a run has many tasks.
                self._absent += 1
                if self._absent > _ABSENT_EXPLAINED:
                    return Interface(problem="no catalogue has these tasks")
            task = find_task(task_id)
            spec, tools = resolve_task(task).spec, tuple(offered_tools(task))
            limit = task.manifest.max_steps or spec.max_steps
            own = frozenset(tool.name for tool in spec.service_tools())
            return Interface(tools, limit, own)
        except AgentGymError as error:
            return Interface(problem=str(error))


def briefing_of(episode: RecordedEpisode, interface: Interface) -> Briefing:
    """Return what the agent of an episode was told, without reference actions."""
    plan = episode.row.plan
    return Briefing(plan.task, episode.row.instruction, plan.seed, interface.max_steps)


def dialogue_of(
    briefing: Briefing, first: Observation | None, steps: Sequence[Step], pictures: Pictures
) -> Dialogue:
    """Return an episode as messages.

    Args:
        briefing: The instruction and the limit on steps.
        first: The observation after reset.
        steps: All steps.
        pictures: Makes the content parts of pictures.
    """
    several = any(place(step) for step in steps)
    shown = turns(steps, images=len(steps))
    found = list[Reply]()
    start = opening(briefing, first, pictures, several=several)
    for begin, end in replies(steps):
        message, *results = render(shown[begin:end], pictures)
        found.append(Reply(message, tuple(results), begin, end))
    return Dialogue(tuple(start), tuple(found), several)
