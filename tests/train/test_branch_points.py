"""Where rollouts branch: which calls count as equal, and how unlikely tokens were."""

from __future__ import annotations

import numpy as np
import pytest

from agentgym.records import Action, Decision, Generation, TokenTrace
from agentgym.train.branch_points import is_like, surprise


@pytest.mark.parametrize(
    ("one", "other", "likeness", "alike"),
    [
        ({"command": "ls -la"}, {"command": "ls -la"}, 1, True),
        ({"command": "ls -la"}, {"command": "ls  -la"}, 1, False),
        ({"command": "ls -la"}, {"command": "ls  -la"}, 0.9, True),
        ({"command": "ls -la"}, {"command": "rm -rf /srv"}, 0.9, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, 1, True),
        ({"command": "x" * 501}, {"command": "x" * 502}, 0.5, False),
    ],
)
def test_calls_that_nearly_agree_are_alike_if_asked_for(one, other, likeness, alike):
    calls = Action("bash", one), Action("bash", other)
    assert is_like(*calls, likeness) is is_like(*reversed(calls), likeness) is alike
    assert not is_like(calls[0], Action("shell", one), likeness)


def test_surprise_is_the_mean_negative_log_probability():
    trace = TokenTrace(None, np.array([1, 2], np.int32), np.array([-1.0, -3.0], np.float32), None)
    decision = Decision(Action("submit", {}), generations=(Generation(trace, "stop", "0", {}),))
    assert surprise(decision) == 2.0
    assert surprise(Decision(Action("submit", {}))) == 0.0
