"""Effective sample size, tempered weights, and the replay buffer."""

from __future__ import annotations

import collections
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from agentgym.train.buffer import ReplayBuffer
from agentgym.train.control import effective_sample_size, temper

logs = st.lists(st.floats(-8, 8), min_size=1, max_size=20)


@given(logs=logs)
def test_the_effective_sample_size_is_the_squared_sum_over_the_sum_of_squares(logs):
    weights = [math.exp(each) for each in logs]
    wanted = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    found = effective_sample_size(torch.tensor(logs, dtype=torch.float64))
    assert found == pytest.approx(wanted, rel=1e-6)
    assert 1 - 1e-6 <= found <= len(logs) + 1e-6


def test_weights_of_nothing_are_worth_nothing():
    assert effective_sample_size(torch.tensor([])) == 0.0
    assert effective_sample_size(torch.tensor([-math.inf, -math.inf])) == 0.0
    assert effective_sample_size(torch.tensor([0.0, -math.inf])) == 1.0
    with pytest.raises(ValueError, match="NaN"):
        effective_sample_size(torch.tensor([math.nan]))


@given(logs=logs, share=st.floats(0, 1))
def test_tempered_weights_are_worth_what_was_asked_and_no_more_is_given_up(logs, share):
    log_weights = torch.tensor(logs, dtype=torch.float64)
    weights, power = temper(log_weights, share)
    assert 0 <= power <= 1
    assert weights.mean().item() == pytest.approx(1, rel=1e-6)
    assert effective_sample_size(weights.log()) >= share * len(logs) - 1e-3
    if power < 1:
        more = effective_sample_size(min(power + 1e-3, 1) * log_weights)
        assert more <= share * len(logs) + 1e-6
    else:
        assert torch.allclose(weights.log().diff(), log_weights.diff(), atol=1e-6)


def drawn_share(half_life, age, draws=3000):
    buffer = ReplayBuffer(10, half_life=half_life, oldest=100, seed=5)
    buffer.add("old", 0)
    buffer.add("new", age)
    counts = collections.Counter(buffer.draw(1, age)[0] for _ in range(draws))
    return counts["old"] / draws


def test_an_item_is_drawn_half_as_often_after_each_half_life():
    # Of weights 1 and 2^-n, the smaller is drawn first with probability 2^-n / (1 + 2^-n).
    assert drawn_share(4, 4) == pytest.approx(1 / 3, abs=0.03)
    assert drawn_share(4, 8) == pytest.approx(1 / 5, abs=0.03)
    assert drawn_share(1e-9, 1) == 0.0


def test_the_oldest_go_when_there_are_too_many_or_they_are_too_old():
    buffer = ReplayBuffer(3, half_life=2, oldest=4)
    for version in (5, 1, 3, 4):
        buffer.add(version, version)
    assert sorted(buffer.draw(9, 5)) == [3, 4, 5]
    assert sorted(buffer.draw(9, 8)) == [4, 5]
    assert len(buffer) == 2
    with pytest.raises(ValueError, match="version 3, but an item is of 5"):
        buffer.draw(1, 3)


def test_a_resumed_buffer_draws_the_same():
    buffer = ReplayBuffer(50, half_life=2, oldest=50, seed=3)
    for version in range(20):
        buffer.add(f"item {version}", version)
    buffer.draw(5, 20)
    resumed = ReplayBuffer(50, half_life=2, oldest=50)
    resumed.load_state_dict(buffer.state_dict())
    assert [buffer.draw(5, 20) for _ in range(4)] == [resumed.draw(5, 20) for _ in range(4)]


@pytest.mark.parametrize("bad", [{"capacity": 0}, {"half_life": 0}, {"oldest": -1}])
def test_bounds_are_positive(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ReplayBuffer(**{"capacity": 1, "half_life": 1, "oldest": 1, **bad})
