"""Sequences that repeat a few parts are not compared for hours; others as `difflib` does."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.comparison import Budget, BudgetSpentError, Matcher, are_alike


@given(st.text("abc", max_size=40), st.text("abc", max_size=40))
def test_a_matcher_finds_what_difflib_finds(one, other):
    plain = difflib.SequenceMatcher(None, one, other, autojunk=False)
    assert Matcher(one, other).get_opcodes() == plain.get_opcodes()
    assert are_alike(one, other, plain.ratio())
    assert not are_alike(one, other, plain.ratio() + 0.001)


def test_what_takes_too_long_is_not_alike():
    assert not are_alike("ax" * 4_000, "ay" * 4_000, 0.4)
    assert are_alike("ax" * 50, "ay" * 50, 0.4)


def test_comparisons_that_share_a_budget_spend_it():
    budget = Budget(50_000)
    assert are_alike("ax" * 20, "ay" * 20, 0.4, budget)
    with pytest.raises(BudgetSpentError):
        for _ in range(100):
            Matcher("ax" * 20, "ay" * 20, budget).ratio()
    assert not are_alike("ax" * 20, "ay" * 20, 0.4, budget)
