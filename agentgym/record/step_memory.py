"""The memory that steps take: each may name one blob of few bytes that becomes 200 MB."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from agentgym.errors import RecordError
from agentgym.records import Step
from agentgym.records.bounds import memory_of

_SHARE: Final = 0.5


def memory_for_steps() -> int:
    """Return how many bytes the steps of one episode may take: half of this machine's memory."""
    return int(_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def within_memory(steps: Iterable[Step], run: Path, episode: int) -> list[Step]:
    """Return steps as a list.

    Args:
        steps: The steps of an episode in their order.
        run: The folder of its run, for the message of an error.
        episode: Its id, likewise.

    Raises:
        RecordError: They would take more than half of this machine's memory.
    """
    found, left = list[Step](), memory_for_steps()
    for step in steps:
        left -= memory_of_step(step)
        if left < 0:
            raise RecordError(
                f"{run}: the first {step.index + 1} steps of episode {episode} take more than half "
                "of this machine's memory; a larger machine can read them"
            )
        found.append(step)
    return found


def memory_of_step(step: Step) -> int:
    """Return about how many bytes a step takes: its picture, its texts and its token ids."""
    seen, decision = step.observation, step.decision
    size = 0 if seen.image is None else seen.image.nbytes
    told = [decision.thought, *(text for one in decision.nudges for text in (one.said, one.told))]
    told += [event.detail for event in step.events]
    for part in (seen.text, seen.data, decision.action.arguments, decision.reply, told):
        size += memory_of(part)
    for generation in decision.generations or ():
        tokens = generation.tokens
        arrays = (tokens.prompt_ids, tokens.completion_ids, tokens.logprobs, tokens.loss_mask)
        size += sum(array.nbytes for array in arrays if array is not None)
    return size
