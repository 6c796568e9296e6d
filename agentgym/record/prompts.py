"""Prompts of token ids, stored as what they add to an earlier generation of the same trajectory.

A model usually gets its last prompt, its own completion and then something new. Whole prompts would
cost the square of an episode's length. A prompt is therefore written as the number of ids it shares
with one of the last generations, and the ids after those.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from agentgym.records import Generation, TokenTrace

KEPT: Final = 8
"""Number of generations on which the next prompt can build, so that conversations may alternate."""

_LEAST_SHARED: Final = 32
"""Fewer shared ids take less room than a reference."""


@dataclass(frozen=True, slots=True)
class PromptBase:
    """The beginning of a prompt, which an earlier generation of the trajectory holds.

    Attributes:
        step: Index of the step with that generation.
        generation: Its number in that step, counted from 0.
        shared: Number of ids that its prompt and completion share with this prompt.
        crc32: CRC-32 of the whole prompt, as little-endian int32.
    """

    step: int
    generation: int
    shared: int
    crc32: int


@dataclass(frozen=True, slots=True)
class RecentTokens:
    """The last generations of a trajectory whose prompts are known, the newest first.

    Attributes:
        kept: Step, number and tokens of each generation.
    """

    kept: tuple[tuple[int, int, TokenTrace], ...] = ()

    def after(self, step: int, generations: tuple[Generation, ...]) -> RecentTokens:
        """Return these generations and those of one more step."""
        recent = self
        for number, generation in enumerate(generations):
            recent = recent.after_one(step, number, generation.tokens)
        return recent

    def after_one(self, step: int, number: int, tokens: TokenTrace) -> RecentTokens:
        """Return these generations and one more."""
        if tokens.prompt_ids is None:
            return self
        return RecentTokens(((step, number, tokens), *self.kept)[:KEPT])

    def split(self, prompt: Any) -> tuple[PromptBase | None, Any]:
        """Return the base of a prompt and the ids after it; no base if it shares too little.

        Args:
            prompt: ``int32[P]``.
        """
        best, longest = None, _LEAST_SHARED - 1
        for step, number, tokens in self.kept:
            shared = _shared(prompt, tokens)
            if shared > longest:
                best, longest = (step, number), shared
            if shared == len(prompt) or shared > _length(tokens.prompt_ids):
                break  # the usual case: it goes on where this generation ended
        if best is None:
            return None, prompt
        return PromptBase(*best, longest, _crc32(prompt)), prompt[longest:]

    def join(self, base: PromptBase, rest: Any) -> Any:
        """Return the prompt of a base and the ids after it.

        Raises:
            ValueError: The generation is not among these, is shorter, or has other ids.
        """
        kept = {(step, number): tokens for step, number, tokens in self.kept}
        if (base.step, base.generation) not in kept:
            raise ValueError(f"generation {base.generation} of step {base.step} is not at hand")
        whole = _sequence(kept[base.step, base.generation])
        if not 0 <= base.shared <= len(whole):
            raise ValueError(f"{base.shared} shared ids, the generation has {len(whole)}")
        prompt = np.concatenate((whole[: base.shared], rest))
        if _crc32(prompt) != base.crc32:
            raise ValueError("the ids do not match their checksum")
        return prompt


def _sequence(tokens: TokenTrace) -> Any:
    parts = [part for part in (tokens.prompt_ids, tokens.completion_ids) if part is not None]
    return np.concatenate(parts)


def _shared(prompt: Any, tokens: TokenTrace) -> int:
    """Return the number of ids that a prompt shares with a prompt and its completion."""
    first = _common(prompt, tokens.prompt_ids)
    if first < _length(tokens.prompt_ids) or tokens.completion_ids is None:
        return first
    return first + _common(prompt[first:], tokens.completion_ids)


def _common(a: Any, b: Any) -> int:
    length = min(len(a), len(b))
    differs = a[:length] != b[:length]
    return int(differs.argmax()) if differs.any() else length


def _length(ids: Any) -> int:
    return 0 if ids is None else len(ids)


def _crc32(ids: Any) -> int:
    return zlib.crc32(ids.astype("<i4", copy=False).tobytes())
