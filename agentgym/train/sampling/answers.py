"""Checks the tokens that another program sampled, before a policy learns from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Final

from agentgym.errors import AgentError

_LARGEST_ID: Final = 2**31 - 1
_LEAST_LOGPROB: Final = -1e4
"""A token that is drawn is far likelier; some servers write -9999 for a chance of 0."""


def sampled(
    who: str, ids: Any, logprobs: Any, *, limit: int, stop_ids: Sequence[int]
) -> tuple[list[int], list[float]]:
    """Return the token ids and the log-probabilities of a completion.

    Args:
        who: The program, for messages.
        ids: What it gave as token ids.
        logprobs: What it gave as their natural log-probabilities.
        limit: Largest number of tokens that it was asked for.
        stop_ids: Tokens that it was asked to end with.

    Raises:
        AgentError: They are no ids and log-probabilities, too many, or go on after the end.
    """
    if not _are_tokens(ids) or not _are_logprobs(logprobs) or len(ids) != len(logprobs):
        raise AgentError(
            f"{who}: expected as many token ids as log-probabilities, got "
            f"{_shown(ids)} and {_shown(logprobs)}"
        )
    if len(ids) > limit:
        raise AgentError(f"{who}: {len(ids)} tokens; {limit} were asked for")
    if any(token in stop_ids for token in ids[:-1]):
        raise AgentError(f"{who}: it went on after a token of stop_token_ids, {_shown(ids)}")
    return [int(each) for each in ids], [min(float(each), 0.0) for each in logprobs]


def _are_tokens(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(each, Integral) and not isinstance(each, bool) and 0 <= int(each) <= _LARGEST_ID
        for each in values
    )


def _are_logprobs(values: Any) -> bool:
    # A comparison first: an integer of 400 digits is no float.
    return isinstance(values, list) and all(
        isinstance(each, int | float)
        and type(each) is not bool
        and _LEAST_LOGPROB <= each < 1e-3
        and math.isfinite(each)
        for each in values
    )


def _shown(values: Any) -> str:
    return str(values[:20] if isinstance(values, list) else values)[:80]
