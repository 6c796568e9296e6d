"""Estimators against brute force, published tables and a jackknife."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.eval.statistics import (
    estimate_mean,
    estimate_pass,
    pass_at_k,
    pass_hat_k,
    t_quantile,
)


@st.composite
def draws(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(1, 9))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


@given(draws())
def test_pass_estimators_equal_the_enumeration_of_all_draws(case: tuple[int, int, int]) -> None:
    n, c, k = case
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(fmean(any(s) for s in subsets))
    assert pass_hat_k(n, c, k) == pytest.approx(fmean(all(s) for s in subsets))


@pytest.mark.parametrize("case", [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_impossible_counts_are_refused(case: tuple[int, int, int]) -> None:
    for estimator in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="needs 0 <= c <= n"):
            estimator(*case)


@pytest.mark.parametrize(
    ("df", "published"),
    # The two-sided 5% column of the usual printed table.
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (7, 2.365), (10, 2.228)]
    + [(15, 2.131), (30, 2.042), (60, 2.000), (120, 1.980), (100_000, 1.960)],
)
def test_t_quantile_matches_the_printed_table(df: int, published: float) -> None:
    assert t_quantile(df) == pytest.approx(published, abs=6e-4)


def test_one_score_a_task_gives_the_textbook_interval() -> None:
    scores = [0.2, 0.4, 0.9, 0.5]
    reach = 3.182446 * stdev(scores) / math.sqrt(len(scores))
    found = estimate_mean([[x] for x in scores])
    assert found.mean == pytest.approx(0.5)
    assert found.ci95 == pytest.approx((0.5 - reach, 0.5 + reach), abs=1e-6)


spread_out = st.lists(st.floats(0, 1), min_size=2, max_size=8).filter(
    lambda scores: max(scores) - min(scores) > 1e-6
)


@given(spread_out, st.integers(2, 5))
def test_repeating_every_episode_adds_no_certainty(scores: list[float], times: int) -> None:
    once = estimate_mean([[x] for x in scores])
    often = estimate_mean([[x] * times for x in scores])
    assert once.ci95 is not None and often.ci95 is not None
    assert often.ci95 == pytest.approx(once.ci95, abs=1e-9)


def test_equal_clusters_agree_with_the_spread_of_their_means() -> None:
    clusters = [[1.0, 0.25, 0.5], [0.0, 0.5, 0.75], [0.5, 0.5, 0.75], [0.5, 0.5, 0.0]]
    means = [fmean(c) for c in clusters]
    reach = 3.182446 * stdev(means) / math.sqrt(len(means))
    found = estimate_mean(clusters)
    assert found.ci95 == pytest.approx((fmean(means) - reach, fmean(means) + reach), abs=1e-6)


@given(st.lists(st.lists(st.floats(0, 1), max_size=4), min_size=1, max_size=6))
def test_an_interval_holds_its_mean_and_stays_in_range(clusters: list[list[float]]) -> None:
    found = estimate_mean(clusters)
    assert found.tasks + found.left_out == len(clusters)
    if found.ci95 is not None:
        low, high = found.ci95
        assert found.mean is not None
        assert 0 <= low <= found.mean + 1e-12 and found.mean - 1e-12 <= high <= 1


def test_one_task_has_a_mean_and_no_interval() -> None:
    found = estimate_mean([[0.0, 1.0], []])
    assert (found.mean, found.ci95, found.tasks, found.left_out) == (0.5, None, 1, 1)


@pytest.mark.parametrize(
    "scores", [[[1.0], [1.0]], [[0.0, 0.0], [0.0], [0.0]], [[0.1], [0.1, 0.1], [0.1]], [[0.7]] * 7]
)
def test_tasks_that_agree_give_no_interval(scores: list[list[float]]) -> None:
    found = estimate_mean(scores)
    assert found.mean == pytest.approx(scores[0][0])
    assert found.ci95 is None


def test_nothing_scored_is_not_zero() -> None:
    assert estimate_mean([[], []]).mean is None


def test_a_task_with_too_few_episodes_is_left_out_and_counted() -> None:
    outcomes = [[True, False, False], [True], [False, False]]
    found = estimate_pass(pass_at_k, outcomes, 2)
    # 3 choose 2 = 3 pairs, 2 of them hold the pass; the third task has one pair without.
    assert found.mean == pytest.approx((2 / 3 + 0) / 2)
    assert (found.tasks, found.left_out) == (2, 1)
