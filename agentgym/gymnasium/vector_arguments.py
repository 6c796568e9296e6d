"""Reads the arguments of a vector environment: lanes, seeds, masks, labels and actions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from agentgym.env.labels import Labels, read_labels
from agentgym.env.seeds import is_seed, shown
from agentgym.errors import ConfigError
from agentgym.records import Action

if TYPE_CHECKING:
    from agentgym.env.environment import Environment


@dataclass(frozen=True, slots=True)
class ResetOptions:
    """The options of a reset.

    Attributes:
        mask: ``bool[num_envs]``, the lanes that begin an episode.
        labels: The labels of each lane's episode.
    """

    mask: NDArray[np.bool_]
    labels: tuple[Labels, ...]


def read_options(
    options: Mapping[str, Any] | None, num_envs: int, *, recorded: bool
) -> ResetOptions:
    """Read the options of a reset.

    Args:
        options: The options as given.
        num_envs: Number of lanes.
        recorded: Whether the episodes are recorded; only then do they have labels.

    Raises:
        ConfigError: An option is unknown, or a label has a wrong value.
        TypeError: The mask is no array of bool.
        ValueError: The mask has another shape or chooses no lane, or there are too few or too
            many labels.
    """
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(f"options: expected an object or None, got {type(options).__name__}")
    given = dict(options or {})
    mask = _read_mask(given.pop("reset_mask", np.ones(num_envs, np.bool_)), num_envs)
    if given and not recorded:
        raise ConfigError(
            f"reset takes only 'reset_mask', got {', '.join(map(repr, given))}; an environment "
            "that is made with record='FOLDER' takes 'group' and 'metadata', too"
        )
    each: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for name, value in given.items():
        # One name or object stands for all lanes.
        several = isinstance(value, Sequence) and not isinstance(value, str)
        if several and len(value) != num_envs:
            raise ValueError(f"options[{name!r}]: expected {num_envs} values, got {len(value)}")
        for lane in range(num_envs):
            each[lane][name] = value[lane] if several else value
    return ResetOptions(mask, tuple(map(read_labels, each)))


def _read_mask(mask: object, num_envs: int) -> NDArray[np.bool_]:
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        got = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(f"reset_mask: expected bool[{num_envs}], got {got}")
    if mask.shape != (num_envs,):
        raise ValueError(f"reset_mask: expected bool[{num_envs}], got {mask.shape}")
    if not mask.any():
        raise ValueError("reset_mask: expected at least one True, got none")
    return mask


def read_actions(actions: object, num_envs: int) -> list[Any]:
    """Return the action of each lane.

    Raises:
        TypeError: The actions are no sequence.
        ValueError: There are too few or too many.
    """
    if isinstance(actions, Mapping | str | bytes | Action) or not isinstance(actions, Iterable):
        raise TypeError(
            f"expected a sequence of {num_envs} actions, one a lane, got {type(actions).__name__}"
        )
    given = list(actions)
    if len(given) != num_envs:
        raise ValueError(f"expected {num_envs} actions, one a lane, got {len(given)}")
    return given


def read_seeds(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """Return the seed of each lane.

    Raises:
        ConfigError: A seed is no integer from 0 on.
        ValueError: There are too few or too many.
    """
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        seed = [int(seed) + number for number in range(num_envs)]
    if isinstance(seed, str) or not isinstance(seed, Iterable):
        raise ConfigError(f"seed: expected an integer or one for each lane, got {seed!r}")
    seeds = [int(one) if isinstance(one, np.integer) else one for one in seed]
    if len(seeds) != num_envs:
        raise ValueError(f"expected {num_envs} seeds, one a lane, got {len(seeds)}")
    for one in seeds:
        if one is not None and not is_seed(one):
            raise ConfigError(f"seed: expected None or an integer from 0 on, got {shown(one)}")
    return seeds


def read_lanes(
    environments: Environment | Sequence[Environment], num_envs: int | None
) -> tuple[Environment, ...]:
    """Return the environment of each lane.

    Raises:
        ConfigError: The number of lanes is wrong.
    """
    several = isinstance(environments, Sequence)
    if num_envs is None and several:
        num_envs = len(cast("Sequence[Environment]", environments))
    if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
        raise ConfigError(f"num_envs: expected a positive integer, got {num_envs!r}")
    if not several:
        return (cast("Environment", environments),) * num_envs
    each = tuple(cast("Sequence[Environment]", environments))
    if len(each) != num_envs:
        raise ConfigError(f"expected {num_envs} environments, one a lane, got {len(each)}")
    return each


def read_mode(mode: str | AutoresetMode) -> AutoresetMode:
    """Return an autoreset mode by its name.

    Raises:
        ConfigError: There is no such mode.
    """
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(repr(one.value) for one in AutoresetMode)
        raise ConfigError(f"autoreset_mode: expected one of {known}, got {mode!r}") from None
