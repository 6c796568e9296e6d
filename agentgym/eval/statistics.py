"""Estimators over scored episodes: pass@k, pass^k, and intervals clustered by task.

pass@k is the unbiased form of Chen et al. 2021 (arXiv:2107.03374), pass^k that of Yao et al.
2024 (arXiv:2406.12045). Intervals use the cluster-robust standard error of a mean (Miller 2024,
arXiv:2411.00640) with Student's t on clusters - 1 degrees of freedom (Cameron & Miller 2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

Interval = tuple[float, float]

_ROUNDING = 1e-12
"""Largest rounding error of a sum of equal scores."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean in 0..1, or of differences in -1..1, with its 95% interval.

    Attributes:
        mean: The mean; None if no episode was scored.
        ci95: The interval; None if fewer than two tasks were scored, or all of them agree: the
            spread is then unknown, and an interval of width zero would claim certainty.
        tasks: Number of tasks in the mean.
        left_out: Number of tasks with fewer scored episodes than the estimator needs.
    """

    mean: float | None
    ci95: Interval | None
    tasks: int
    left_out: int = 0


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that at least one of k draws from n episodes, c of them passed, passes.

    Raises:
        ValueError: Unless ``0 <= c <= n`` and ``1 <= k <= n``.
    """
    _check(n, c, k)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the chance that all of k draws from n episodes, c of them passed, pass.

    Raises:
        ValueError: Unless ``0 <= c <= n`` and ``1 <= k <= n``.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def estimate_mean(scores: Sequence[Sequence[float]], *, least: float = 0.0) -> Estimate:
    """Return the mean over all episodes; `scores` holds a sequence for each task, perhaps empty.

    Args:
        scores: Values of at most 1.
        least: Smallest possible value: -1 for differences of scores.
    """
    clusters = [cluster for cluster in scores if cluster]
    total = sum(len(cluster) for cluster in clusters)
    if not total:
        return Estimate(None, None, 0, left_out=len(scores))
    mean = math.fsum(x for cluster in clusters for x in cluster) / total
    interval = _interval(clusters, mean, total, least) if len(clusters) > 1 else None
    return Estimate(mean, interval, len(clusters), len(scores) - len(clusters))


def estimate_pass(
    estimator: Callable[[int, int, int], float], outcomes: Sequence[Sequence[bool]], k: int
) -> Estimate:
    """Return the mean over tasks of `pass_at_k` or `pass_hat_k`; `outcomes` has one item a task.

    A task with fewer than k scored episodes cannot be estimated without bias and is left out.
    """
    values = [[estimator(len(o), sum(o), k)] if len(o) >= k else [] for o in outcomes]
    return estimate_mean(values)


@lru_cache(maxsize=256)
def t_quantile(df: int) -> float:
    """Return t with ``P(|T| <= t) = 0.95`` for Student's t with `df` degrees of freedom.

    The probability has a closed form in ``theta = atan(t / sqrt(df))`` (Abramowitz & Stegun,
    26.7.3 and 26.7.4), which is inverted by bisection.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _central_probability(middle, df) < 0.95 else (low, middle)
    return math.sqrt(df) * math.tan((low + high) / 2)


def _central_probability(theta: float, df: int) -> float:
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = df % 2
    term = cosine if odd else 1.0
    series = 0.0 if df == 1 else term
    for j in range(2 + odd, df - 1, 2):
        term *= cosine * cosine * (j - 1) / j
        series += term
    return 2 / math.pi * (theta + sine * series) if odd else sine * series


def _interval(
    clusters: Sequence[Sequence[float]], mean: float, total: int, least: float
) -> Interval | None:
    count = len(clusters)
    squares = math.fsum(math.fsum(x - mean for x in cluster) ** 2 for cluster in clusters)
    error = math.sqrt(count / (count - 1) * squares) / total
    reach = t_quantile(count - 1) * error
    if reach < _ROUNDING:
        return None
    return max(least, mean - reach), min(1.0, mean + reach)


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"needs 0 <= c <= n and 1 <= k <= n, got n={n}, c={c}, k={k}")
