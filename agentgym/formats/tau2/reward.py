"""The reward of an episode by the rules of tau2-bench: a product of parts, each 1 or 0.

The rules include that benchmark's oddities: the expected end state is that of the reference calls,
and calls that raise change nothing; texts are searched without their commas; an expected call
matches one with fewer arguments. A part that needs a language model is not judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgym.formats.tau2.model import Criteria, GoldAction, Tau2Task
from agentgym.formats.tau2.process import DomainProcess, WorldRaisedError

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Raised:
    """A reference call that failed, which tau2-bench only logs."""

    call: str
    error: str


@dataclass(frozen=True)
class Reward:
    """The reward of an episode.

    Attributes:
        parts: Judged parts of the task's `reward_basis`: 1 or 0.
        unjudged: Sentences of the basis that need a language model.
        raised: Reference calls that failed while computing the expected end state.
        broken: Reason why the episode cannot be judged, if tau2-bench's evaluator would fail.
    """

    parts: Mapping[str, float] = field(default_factory=dict)
    unjudged: tuple[str, ...] = ()
    raised: tuple[Raised, ...] = ()
    broken: str = ""

    @property
    def value(self) -> float | None:
        """1 or 0; None if it depends on a part that was not judged."""
        if self.broken:
            return None
        judged = math.prod(self.parts.values(), start=1.0)
        return None if judged and self.unjudged else judged


def judge(process: DomainProcess, task: Tau2Task, messages: Messages) -> Reward:
    """Judge the messages of an episode that both sides have finished.

    Raises:
        TaskError: A world did not answer.
    """
    criteria = task.criteria
    if criteria is None:
        return Reward()
    try:
        parts, raised = _state(process, task, criteria, messages)
    except WorldRaisedError as error:
        return Reward(broken=str(error))
    if "ACTION" in criteria.reward_basis:
        parts["ACTION"] = float(all(_made(gold, messages) for gold in task.gold))
    if "COMMUNICATE" in criteria.reward_basis:
        texts = criteria.communicate_info or ()
        parts["COMMUNICATE"] = float(all(_told(text, messages) for text in texts))
    return Reward(parts, task.judged_by_model, raised)


def _state(
    process: DomainProcess, task: Tau2Task, criteria: Criteria, messages: Messages
) -> tuple[dict[str, float], tuple[Raised, ...]]:
    """Judge the end state: repeat the messages, and compare with the reference calls."""
    if criteria.actions is None and criteria.env_assertions is None:
        return {}, ()
    with process.world() as reached, process.world() as expected:
        reached.begin(task, messages)
        expected.begin(task, task.history)
        raised = []
        for gold in task.gold:
            given: dict[str, Any] = {
                "name": gold.name,
                "arguments": gold.arguments,
                "requestor": gold.requestor,
            }
            try:
                expected.ask("act", **given)
            except WorldRaisedError as error:
                raised.append(Raised(str(gold), str(error)))
        parts: dict[str, float] = {}
        if "DB" in criteria.reward_basis:
            parts["DB"] = float(reached.ask("hashes") == expected.ask("hashes"))
        held = [reached.ask("holds", assertion=one) for one in criteria.env_assertions or ()]
        if "ENV_ASSERTION" in criteria.reward_basis:
            parts["ENV_ASSERTION"] = float(all(held))
    return parts, tuple(raised)


def _calls(messages: Messages) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        if message["role"] in ("assistant", "user"):
            yield from message.get("tool_calls") or ()


def _made(gold: GoldAction, messages: Messages) -> bool:
    """Return whether either side made a reference call, by its compared arguments."""

    def same(call: Mapping[str, Any]) -> bool:
        given = call["arguments"]
        compared = given if gold.compare_args is None else gold.compare_args
        wanted = {name: value for name, value in gold.arguments.items() if name in compared}
        return {name: value for name, value in given.items() if name in compared} == wanted

    return any(call["name"] == gold.name and same(call) for call in _calls(messages))


def _told(text: str, messages: Messages) -> bool:
    """Return whether the agent wrote a text to the user."""
    said = (m.get("content") or "" for m in messages if m["role"] == "assistant")
    return any(
        text.lower() in content.lower().replace(",", "") for content in said if content.strip()
    )
