"""Sums, means, deviations and medians of the values of each group, without a loop over groups."""

from __future__ import annotations

import torch
from torch import Tensor


def relabelled(groups: Tensor) -> tuple[Tensor, int]:
    """Return group numbers from 0 without gaps, and how many groups there are.

    Args:
        groups: ``int64[N]``, any numbers; equal numbers are one group.

    Returns:
        ``int64[N]`` with values below the count, and the count.

    Raises:
        ValueError: `groups` is not a vector of whole numbers.
    """
    if groups.dim() != 1 or groups.is_floating_point():
        raise ValueError(
            f"groups: expected a vector of whole numbers, got {groups.dtype} of shape "
            f"{tuple(groups.shape)}"
        )
    found, numbers = torch.unique(groups, return_inverse=True)
    return numbers, len(found)


def checked(values: Tensor, groups: Tensor) -> None:
    """Raise ValueError unless `values` is a vector of finite floats as long as `groups`."""
    if values.dim() != 1 or not values.is_floating_point():
        raise ValueError(
            f"expected a vector of floats, got {values.dtype} of shape {tuple(values.shape)}"
        )
    if values.shape != groups.shape:
        raise ValueError(f"{len(values)} values, but group numbers for {len(groups)}")
    if not bool(torch.isfinite(values).all()):
        raise ValueError(
            "a value is not finite; leave out episodes without a score before training"
        )


def sums(values: Tensor, numbers: Tensor, count: int) -> Tensor:
    """Return the sum of each group: ``float[count]``."""
    return values.new_zeros(count).index_add(0, numbers, values)


def sizes(values: Tensor, numbers: Tensor, count: int) -> Tensor:
    """Return the number of values of each group in the dtype of `values`: ``float[count]``."""
    return sums(torch.ones_like(values), numbers, count)


def means(values: Tensor, numbers: Tensor, count: int) -> Tensor:
    """Return the mean of each group: ``float[count]``."""
    return sums(values, numbers, count) / sizes(values, numbers, count)


def deviations(values: Tensor, numbers: Tensor, count: int, *, unbiased: bool) -> Tensor:
    """Return the standard deviation of each group: ``float[count]``; 0 for a single value."""
    centred = values - means(values, numbers, count)[numbers]
    divisor = sizes(values, numbers, count) - (1 if unbiased else 0)
    return (sums(centred**2, numbers, count) / divisor.clamp(min=1)).sqrt()


def medians(values: Tensor, numbers: Tensor, count: int) -> Tensor:
    """Return the median of each group, the mean of the middle two where even: ``float[count]``."""
    by_value = torch.argsort(values, stable=True)
    order = by_value[torch.argsort(numbers[by_value], stable=True)]
    held = torch.bincount(numbers, minlength=count)
    start = torch.cumsum(held, 0) - held
    low, high = start + (held - 1) // 2, start + held // 2
    ordered = values[order]
    return (ordered[low] + ordered[high]) / 2
