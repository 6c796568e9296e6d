"""An episode as one prompt and one response, for trainers that know no other form."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym.errors import RecordError
from agentgym.train.samples import EpisodeTokens


@dataclass(frozen=True, slots=True)
class OneSequence:
    """The tokens of an episode.

    Attributes:
        prompt_ids: Tokens before the first one that the policy sampled.
        response_ids: All others, those that it read later included.
        logprobs: For each token of the response its log-probability; 0 for one that was read.
        mask: For each token of the response 1 if the policy sampled it, else 0.
    """

    prompt_ids: list[int]
    response_ids: list[int]
    logprobs: list[float]
    mask: list[int]


def one_sequence(tokens: EpisodeTokens, trainer: str) -> OneSequence | None:
    """Return the tokens of an episode, None if the policy sampled none.

    Args:
        tokens: The tokens as they were read and sampled.
        trainer: Name of the trainer, for the message.

    Raises:
        RecordError: They are not one sequence, because a prompt did not continue the one before.
    """
    if tokens.breaks:
        raise RecordError(
            f"{tokens.breaks} prompts of an episode do not continue the one before; "
            f"{trainer} takes one sequence an episode, so use a template that only appends"
        )
    if not tokens.sequences or True not in tokens.sequences[0].mask:
        return None
    sequence = tokens.sequences[0]
    first = sequence.mask.index(True)
    return OneSequence(
        *(sequence.ids[:first], sequence.ids[first:], sequence.logprobs[first:]),
        [int(counts) for counts in sequence.mask[first:]],
    )
