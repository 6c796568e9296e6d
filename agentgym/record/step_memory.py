"""The memory that steps take: each may name one blob of few bytes that becomes 200 MB."""

from __future__ import annotations

import os
from typing import Final

from agentgym.records import Step
from agentgym.records.bounds import memory_of

_SHARE: Final = 0.5


def memory_for_steps() -> int:
    """Return how many bytes the steps of one episode may take: half of this machine's memory."""
    return int(_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


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
