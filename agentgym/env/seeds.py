"""Reads seeds of episodes: integers from 0 on, of Python or of numpy."""

from __future__ import annotations

from numbers import Integral
from typing import Final

from agentgym.errors import ConfigError

LARGEST: Final = 2**1024 - 1
"""Largest seed; a record holds 63 bits, and Python writes no number of 4,301 digits."""


def is_seed(seed: object) -> bool:
    """Return whether a value is an integer from 0 on that is not huge."""
    return isinstance(seed, Integral) and not isinstance(seed, bool) and 0 <= int(seed) <= LARGEST


def read_seed(seed: object) -> int:
    """Return a seed as an int.

    Raises:
        ConfigError: It is no integer from 0 on, or too large.
    """
    if not isinstance(seed, Integral) or not is_seed(seed):
        raise ConfigError(f"seed: expected an integer from 0 on, got {shown(seed)}")
    return int(seed)


def shown(seed: object) -> str:
    """Return a wrong seed for a message; Python writes no integer of 4,301 digits."""
    if isinstance(seed, Integral) and not -LARGEST <= int(seed) <= LARGEST:
        return f"one of {int(seed).bit_length():,} bits; a seed has at most 1,024"
    return f"{seed!r:.80}"
