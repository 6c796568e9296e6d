"""The generation behind a decision, in the form a trainer needs: tokens, probabilities, sampling.

Everything may be unknown: None means that the value is unknown, which differs from 0 and empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentgym.records.values import Json, LogProbs, LossMask, TokenIds

MOST_TOKENS: Final = 2**21
"""Tokens of one prompt, or of one completion."""

_MOST_ID: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class TokenTrace:
    """The tokens of one completion as read-only arrays; each may be unknown (None).

    Any sequence of numbers of the right kind is accepted and copied into an array.

    Attributes:
        prompt_ids: ``int32[P]``, the token ids the model was given.
        completion_ids: ``int32[C]``, the token ids it generated.
        logprobs: ``float32[C]``, natural logarithms, at most 0; ``-inf`` is allowed.
        loss_mask: ``bool[C]``, True for the tokens that the policy sampled and a loss may count.

    Raises:
        ValueError: A value is of another kind, out of bounds, or of another length than the
            completion's other arrays; names the field.

    Example:
        >>> trace = TokenTrace(completion_ids=[5, 7], logprobs=[-0.1, -2.0])
        >>> trace.completion_ids.dtype.name, trace.prompt_ids is None
        ('int32', True)
    """

    prompt_ids: TokenIds | None = None
    completion_ids: TokenIds | None = None
    logprobs: LogProbs | None = None
    loss_mask: LossMask | None = None

    def __post_init__(self) -> None:
        for name, read in _READERS.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, read(name, value))
        lengths = {
            name: len(array)
            for name in ("completion_ids", "logprobs", "loss_mask")
            if (array := getattr(self, name)) is not None
        }
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            raise ValueError(f"arrays of one completion must have one length, but {told}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenTrace):
            return NotImplemented
        return all(_equal(getattr(self, name), getattr(other, name)) for name in _READERS)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Generation:
    """One completion of a model.

    Attributes:
        tokens: Its tokens, as far as they are known.
        finish_reason: Why it ended, in the server's words (``"stop"``, ``"length"``).
        policy_version: Which policy generated it: a model's name and version, or a checkpoint.
        sampling: The sampling parameters that were sent, such as ``{"temperature": 1.0}``; empty
            if the request left all of them to the server.
        rejected: It held no usable call; the policy was corrected and asked again.
    """

    tokens: TokenTrace = field(default_factory=TokenTrace)
    finish_reason: str | None = None
    policy_version: str | None = None
    sampling: Mapping[str, Json] | None = None
    rejected: bool = False


def _equal(a: Any, b: Any) -> bool:
    import numpy as np

    if a is None or b is None:
        return a is b
    return bool(np.array_equal(a, b))


def _array(name: str, value: object, kinds: str, wanted: str) -> Any:
    """Return a one-dimensional array whose dtype is of one of the kinds (``dtype.kind``)."""
    import numpy as np

    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{name}: expected {wanted}, got {error}") from error
    if array.ndim != 1:
        raise ValueError(f"{name}: expected one dimension, got the shape {array.shape}")
    if array.size > MOST_TOKENS:
        raise ValueError(f"{name}: expected at most {MOST_TOKENS:,} tokens, got {array.size:,}")
    if array.size and array.dtype.kind not in kinds:
        raise ValueError(f"{name}: expected {wanted}, got {array.dtype.name}")
    return array


def _frozen(array: Any, dtype: str) -> Any:
    copy = array.astype(dtype, copy=True)
    copy.setflags(write=False)
    return copy


def _ids(name: str, value: object) -> Any:
    array = _array(name, value, "iu", "token ids")
    if array.size and (int(array.min()) < 0 or int(array.max()) > _MOST_ID):
        raise ValueError(f"{name}: expected ids from 0 to {_MOST_ID}, got another")
    return _frozen(array, "int32")


def _logprobs(name: str, value: object) -> Any:
    array = _array(name, value, "fiu", "log-probabilities")
    # A server may round a probability of 1 to a little more.
    if array.size and not bool((array <= 1e-3).all()):
        raise ValueError(f"{name}: expected logarithms of at most 0, got another number")
    return _frozen(array, "float32")


def _mask(name: str, value: object) -> Any:
    return _frozen(_array(name, value, "b", "true or false for each token"), "bool")


_READERS: Final = {
    "prompt_ids": _ids,
    "completion_ids": _ids,
    "logprobs": _logprobs,
    "loss_mask": _mask,
}
