"""The bounds on how far and how fast a learner moves the weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agentgym.records import Generation, TokenTrace
from agentgym.train.config import AlgorithmConfig
from agentgym.train.learner import Learner
from agentgym.train.models.tiny import TinyShape, TinyTransformer
from agentgym.train.rollouts import Assignment, Group, Trajectory
from agentgym.train.samples import episode_tokens


def make_learner(updates=4, **config):
    torch.manual_seed(0)
    model = TinyTransformer(TinyShape(8, width=16, layers=1, heads=2, context=8))
    algorithm = AlgorithmConfig(learning_rate=0.05, **config)
    return Learner(model, algorithm, temperature=1.0, updates=updates)


def group():
    """Return two attempts: token 3 is worth something, token 4 is not."""
    found = []
    for token, reward in ((3, 1.0), (4, 0.0)):
        trace = TokenTrace(
            np.array([1, 2], np.int32),
            np.array([token], np.int32),
            np.array([-2.08], np.float32),
            np.ones(1, bool),
        )
        tokens = episode_tokens([(0, Generation(trace, "stop", "0", {}))])
        found.append(Trajectory(reward, tokens, ("",)))
    return Group(Assignment(0, "words", 0, 2), tuple(found))


def learn(learner, times=1):
    for _ in range(times):
        figures = learner.update([group()], [1.0, 0.0])
    return figures


def rate(learner):
    return learner.state_dict()["optimizer"]["adam"]["param_groups"][0]["lr"]


def test_a_batch_that_moved_the_policy_far_gets_no_further_epoch():
    free, bounded = (make_learner(epochs=20, largest_kl=kl) for kl in (None, 0.01))
    assert learn(free)["kl"] > 0.1
    learn(bounded)
    epochs = [
        int(each.state_dict()["optimizer"]["adam"]["state"][0]["step"]) for each in (free, bounded)
    ]
    assert epochs[0] == 20
    assert 1 < epochs[1] < 10


def test_the_learning_rate_decays_to_its_share_and_stays_there():
    learner = make_learner(final_learning_rate=0.2)
    rates = [rate(learner)]
    for _ in range(6):
        learn(learner)
        rates.append(rate(learner))
    assert rates == pytest.approx([0.05, 0.04, 0.03, 0.02, 0.01, 0.01, 0.01])


def test_a_resumed_learner_decays_as_if_it_had_not_stopped():
    one, other = (make_learner(final_learning_rate=0.2) for _ in range(2))
    learn(one, 2)
    other.load_state_dict(one.state_dict())
    assert learn(other) != {}
    learn(one)
    assert rate(other) == pytest.approx(rate(one)) == pytest.approx(0.02)
