"""A task of tau2-bench, as the engine sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgym.formats.tau2.customer import customer_script, reference_actions
from agentgym.formats.tau2.rules import Tau2Rules, read_rules
from agentgym.protocols import EpisodeContext, EpisodeRules, ForeignTask, ImageBuilder
from agentgym.records import Action

ENV = "tau2"
_DECIDING = ("evaluation_criteria", "initial_state")
_INSTRUCTION = """\
You work for the customer service of a company and talk with one of its customers: write to \
them with `message_user`. The other tools are those of the company's systems. Keep to the policy \
below, whatever the customer asks for. Call `submit` when the conversation is over; what you give \
it as an answer is your last message to the customer."""


@dataclass(frozen=True, slots=True)
class Tau2TaskRules:
    """The `TaskRules` of such a task.

    Attributes:
        rules: Location and content of the task.
    """

    rules: Tau2Rules

    def open_episode(self, context: EpisodeContext) -> EpisodeRules:
        """Return the rules of an episode that is about to begin."""
        from agentgym.formats.tau2.episode import Tau2Episode

        return Tau2Episode(self.rules, context.judge)

    def reference_actions(self) -> Sequence[Action]:
        """Return the agent's part of the reference solution."""
        return tuple(reference_actions(self.rules.task))

    def verifier_parts(self) -> Iterator[tuple[str, bytes]]:
        """Yield the criteria of the task."""
        raw = {key: self.rules.task.raw.get(key) for key in _DECIDING}
        yield "task", json.dumps(raw, sort_keys=True).encode()

    def prepare(self, builder: ImageBuilder, tell: Callable[[str], None]) -> None:
        """Do nothing: the checkout has everything."""

    def replacements(self) -> Mapping[str, str]:
        """Return nothing: nothing is replaced."""
        return {}


def tau2_task(folder: Path) -> ForeignTask:
    """Return the task that a folder points to.

    Raises:
        TaskError: The folder, the checkout or the task is broken.
        MissingExtraError: The interpreter lacks a package.
    """
    rules = read_rules(folder)
    pointer, domain = rules.pointer, rules.domain
    customer = customer_script(rules.task, tuple(tool.name for tool in domain.user_tools))
    return ForeignTask(
        format="tau2",
        title=f"{pointer.domain}: {pointer.task}",
        instruction=_INSTRUCTION,
        rules=Tau2TaskRules(rules),
        id=pointer.id,
        env=ENV,
        tools=domain.tools,
        user=customer.model_dump(mode="json", by_alias=True, exclude_unset=True),
    )
