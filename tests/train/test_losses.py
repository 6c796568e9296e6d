"""Losses agree with slow references token by token, and so do their gradients."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from agentgym.train.losses import (
    Estimator,
    Level,
    Weighting,
    clipped,
    decoupled,
    divergence,
    masked,
    token_weights,
    truncated,
)

logprob = st.floats(-6, 0)
tokens = st.lists(st.tuples(logprob, logprob, logprob, st.floats(-3, 3)), min_size=1, max_size=12)


def columns(drawn):
    return [torch.tensor(column, dtype=torch.float64) for column in zip(*drawn, strict=True)]


def slow_clipped(new, old, advantage, low, high, dual):
    """Return the loss of one token and its derivative by the new log-probability."""
    ratio = math.exp(new - old)
    bound = min(max(ratio, 1 - low), 1 + high)
    objective = min(ratio * advantage, bound * advantage)
    slope = ratio * advantage if ratio * advantage <= bound * advantage else 0.0
    if dual is not None and advantage < 0 and objective < dual * advantage:
        objective, slope = dual * advantage, 0.0
    return -objective, -slope


@given(
    drawn=tokens, low=st.floats(0, 0.9), high=st.floats(0.01, 0.9), dual=st.none() | st.just(3.0)
)
def test_the_clipped_loss_and_its_gradient_follow_the_formula(drawn, low, high, dual):
    new, old, _, advantages = columns(drawn)
    new.requires_grad_()
    loss = clipped(new, old, advantages, low=low, high=high, dual=dual)
    loss.values.sum().backward()
    wanted = [slow_clipped(n, o, a, low, high, dual) for n, o, _, a in drawn]
    assert loss.values.tolist() == pytest.approx([each[0] for each in wanted], rel=1e-9)
    assert new.grad.tolist() == pytest.approx([each[1] for each in wanted], rel=1e-9, abs=1e-12)
    assert not new.grad[loss.held].any()


@given(drawn=tokens, cap=st.none() | st.floats(0.1, 3))
def test_the_decoupled_loss_weighs_by_the_proximal_policy(drawn, cap):
    new, proximal, behaviour, advantages = columns(drawn)
    found = decoupled(new, proximal, behaviour, advantages, cap=cap).values.tolist()
    for value, (n, p, b, a) in zip(found, drawn, strict=True):
        weight = min(math.exp(p - b), cap or math.inf)
        assert value == pytest.approx(weight * slow_clipped(n, p, a, 0.2, 0.2, None)[0], rel=1e-9)


def test_without_staleness_the_decoupled_loss_is_the_clipped_one():
    new, old, advantages = torch.randn(3, 50, dtype=torch.float64)
    fresh = decoupled(new, old, old, advantages).values
    assert torch.equal(fresh, clipped(new, old, advantages).values)


def test_nothing_is_learnt_through_other_policies_or_advantages():
    new, proximal, behaviour, advantages = torch.randn(4, 20).requires_grad_().unbind()
    others = [each.detach().requires_grad_() for each in (proximal, behaviour, advantages)]
    decoupled(new, *others).values.sum().backward()
    assert all(each.grad is None for each in others)


@given(drawn=tokens, data=st.data(), level=st.sampled_from(Level), bound=st.floats(0.1, 5))
def test_corrections_bound_the_ratio_at_their_level(drawn, data, level, bound):
    new, old, *_ = columns(drawn)
    numbers = st.lists(st.integers(0, 3), min_size=len(drawn), max_size=len(drawn))
    sequences = torch.tensor(data.draw(numbers))
    cut = truncated(new, old, sequences, cap=bound, level=level).tolist()
    kept = masked(new, old, sequences, low=bound / 4, high=bound, level=level).tolist()
    for index in range(len(drawn)):
        mine = [n for n in range(len(drawn)) if sequences[n] == sequences[index]]
        logs = [drawn[n][0] - drawn[n][1] for n in (mine if level is not Level.TOKEN else [index])]
        log = sum(logs) / (len(logs) if level is Level.GEOMETRIC else 1)
        ratio = math.exp(log)
        assert cut[index] == pytest.approx(min(ratio, bound), rel=1e-6)
        inside = bound / 4 <= ratio <= bound
        if not math.isclose(ratio, bound, rel_tol=1e-6) and not math.isclose(
            ratio, bound / 4, rel_tol=1e-6
        ):
            assert kept[index] == pytest.approx(ratio if inside else 0.0, rel=1e-6)


def test_a_long_sequence_far_from_the_policy_gives_no_infinite_weight():
    far = torch.zeros(100_000)
    weights = masked(far, far - 5, torch.zeros(100_000, dtype=torch.long))
    assert torch.equal(weights, torch.zeros(100_000))


@pytest.mark.parametrize("estimator", [Estimator.K1, Estimator.K3])
def test_estimates_average_to_the_divergence(estimator):
    torch.manual_seed(0)
    policy, reference = torch.randn(2, 8, dtype=torch.float64).log_softmax(-1)
    exact = (policy.exp() * (policy - reference)).sum()
    estimates = divergence(policy, reference, estimator)
    assert torch.allclose((policy.exp() * estimates).sum(), exact)


def test_the_gradient_of_k2_is_that_of_the_divergence_and_k1_has_none():
    torch.manual_seed(0)
    logits = torch.randn(8, dtype=torch.float64, requires_grad=True)
    reference = torch.randn(8, dtype=torch.float64).log_softmax(-1)

    def gradient(loss):
        return torch.autograd.grad(loss, logits)[0]

    policy = logits.log_softmax(-1)
    exact = gradient((policy.exp() * (policy - reference)).sum())
    expected = {}
    for estimator in Estimator:
        policy = logits.log_softmax(-1)
        values = divergence(policy, reference, estimator)
        expected[estimator] = gradient((policy.detach().exp() * values).sum())
    assert torch.allclose(expected[Estimator.K2], exact)
    assert torch.allclose(expected[Estimator.K1], torch.zeros(8, dtype=torch.float64))
    policy = logits.log_softmax(-1)
    backwards = gradient((reference.exp() * (reference - policy)).sum())
    assert torch.allclose(expected[Estimator.K3], backwards)


# --- weights --------------------------------------------------------------------------------------

batch = st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=30)


@given(drawn=batch, weighting=st.sampled_from(Weighting))
def test_weights_follow_their_formulas(drawn, weighting):
    mask, trajectories = (torch.tensor(column) for column in zip(*drawn, strict=True))
    found = token_weights(mask, trajectories, weighting, constant=100.0).tolist()
    counted = [trajectory for held, trajectory in drawn if held]
    for weight, (held, trajectory) in zip(found, drawn, strict=True):
        wanted = {
            Weighting.TOKENS: 1 / max(len(counted), 1),
            Weighting.TRAJECTORIES: 1 / max(len(set(counted)) * counted.count(trajectory), 1),
            Weighting.CONSTANT: 1 / (max(len(set(counted)), 1) * 100.0),
        }[weighting]
        assert weight == pytest.approx(wanted if held else 0.0, rel=1e-6)


@given(drawn=batch, data=st.data(), weighting=st.sampled_from(Weighting))
def test_samples_may_be_split_and_shuffled_without_another_loss(drawn, data, weighting):
    """The steps of a trajectory may travel as one sample or as many, in any order."""
    losses = torch.arange(len(drawn), dtype=torch.float32)
    order = data.draw(st.permutations(range(len(drawn))))
    mask, trajectories = (torch.tensor(column) for column in zip(*drawn, strict=True))
    whole = (token_weights(mask, trajectories, weighting) * losses).sum()
    split = token_weights(mask[order], trajectories[order], weighting) * losses[order]
    cut = data.draw(st.integers(0, len(drawn)))
    assert torch.allclose(split[:cut].sum() + split[cut:].sum(), whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: clipped(torch.zeros(2), torch.zeros(3), torch.zeros(2)),
        lambda: clipped(torch.zeros(2), torch.zeros(2), torch.zeros(2), low=1.5),
        lambda: clipped(torch.zeros(2), torch.zeros(2), torch.zeros(2), high=-0.1),
        lambda: clipped(torch.zeros(2), torch.zeros(2), torch.zeros(2), dual=1.0),
        lambda: decoupled(torch.zeros(2), torch.zeros(2), torch.zeros(1), torch.zeros(2)),
        lambda: decoupled(*torch.zeros(4, 2), cap=0.0),
        lambda: truncated(torch.zeros(2), torch.zeros(2), torch.zeros(2).long(), cap=0.0),
        lambda: truncated(torch.zeros(2), torch.zeros(2), torch.zeros(3).long()),
        lambda: masked(torch.zeros(2), torch.zeros(2), torch.zeros(2).long(), low=3.0),
        lambda: divergence(torch.zeros(2), torch.zeros(1), Estimator.K3),
        lambda: token_weights(torch.zeros(2).bool(), torch.zeros(3).long(), Weighting.TOKENS),
        lambda: token_weights(
            torch.zeros(2).bool(), torch.zeros(2).long(), Weighting.CONSTANT, constant=0.0
        ),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ValueError, match=r"expected|shapes differ"):
        call()
