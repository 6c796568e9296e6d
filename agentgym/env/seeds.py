"""Reads seeds of episodes: integers from 0 on, of Python or of numpy."""

from __future__ import annotations

from numbers import Integral

from agentgym.errors import ConfigError


def is_seed(seed: object) -> bool:
    """Return whether a value is an integer from 0 on."""
    return isinstance(seed, Integral) and not isinstance(seed, bool) and int(seed) >= 0


def read_seed(seed: object) -> int:
    """Return a seed as an int.

    Raises:
        ConfigError: It is no integer from 0 on.
    """
    if not isinstance(seed, Integral) or not is_seed(seed):
        raise ConfigError(f"seed: expected an integer from 0 on, got {seed!r:.80}")
    return int(seed)
