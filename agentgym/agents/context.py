"""Fits a dialogue into a model's context window.

The least important parts go first: the oldest tool outputs, then whole old steps, and, only if the
last few steps are too long by themselves, the middle of their outputs. The result depends on the
history and the budget alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from agentgym.agents.dialogue import Pictures, Turn, opening, render, turns
from agentgym.chat.picture import picture_part
from agentgym.chat.toolcalls import ChatMessage
from agentgym.records import Briefing, Json, Observation, Step

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1000
RECENT = 4


def compose(
    briefing: Briefing,
    first: Observation | None,
    history: Sequence[Step],
    budget: int,
    *,
    several: bool = False,
    pictures: Pictures = picture_part,
) -> tuple[list[ChatMessage], int]:
    """Return the dialogue of an episode so far, and its estimated size in tokens.

    Args:
        briefing: Briefing of the episode.
        first: The observation after reset; it is used if no step was taken yet.
        history: The steps taken.
        budget: Tokens for the dialogue; the opening and the last calls are always included.
        several: Whether the model is told that a reply may make several calls.
        pictures: Makes the parts of images.
    """
    every = turns(history)
    fixed = text_tokens(opening(briefing, None, pictures))
    kept = fit(every, budget - fixed)
    left_out = len(every) - len(kept)
    messages = opening(briefing, first, pictures, left_out, several=several)
    messages += render(kept, pictures)
    return messages, fixed + sum(map(turn_tokens, kept))


def text_tokens(value: Json | Sequence[ChatMessage]) -> int:
    """Estimate the tokens of a JSON value that holds no image."""
    return len(json.dumps(value, ensure_ascii=False, default=dict)) // CHARS_PER_TOKEN


def turn_tokens(turn: Turn) -> int:
    """Estimate the tokens of a turn."""
    return (
        text_tokens(turn.call)
        + len(turn.output) // CHARS_PER_TOKEN
        + (IMAGE_TOKENS if turn.image is not None else 0)
    )


def fit(turns: Sequence[Turn], budget: int) -> list[Turn]:
    """Return the turns, shortened to about `budget` tokens.

    The last `RECENT` turns are always included. Dropped turns are the oldest ones.
    """
    kept = list(turns)
    size = sum(map(turn_tokens, kept))
    old = max(len(kept) - RECENT, 0)
    for number in range(old):
        if size <= budget:
            return kept
        emptied = replace(kept[number], output=_note(kept[number].output), image=None)
        size += turn_tokens(emptied) - turn_tokens(kept[number])
        kept[number] = emptied
    while old and size > budget:
        size -= turn_tokens(kept.pop(0))
        old -= 1
    if size <= budget or not kept:
        return kept
    calls = sum(turn_tokens(replace(turn, output="")) for turn in kept)
    share = max(budget - calls, 0) * CHARS_PER_TOKEN // len(kept)
    return [replace(turn, output=_middle_cut(turn.output, share)) for turn in kept]


def _note(output: str) -> str:
    note = f"[{len(output)} characters of output left out to save room]"
    return note if len(note) < len(output) else output


def _middle_cut(output: str, limit: int) -> str:
    if len(output) <= limit:
        return output
    half = limit // 2
    note = f"\n[{len(output) - 2 * half} characters left out to save room]\n"
    return output[:half] + note + output[len(output) - half :]
