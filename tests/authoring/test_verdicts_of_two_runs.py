"""Two runs of a solution with the same end must be judged alike."""

import pytest

from agentgym.authoring.probes.solving import judged_differently
from agentgym.authoring.stage import Played
from agentgym.records import (
    Action,
    CheckpointResult,
    CheckStatus,
    Decision,
    Observation,
    Phase,
    Step,
    Verdict,
)


def played(tools, message, *, score=1.0, step=None, whole=1.0):
    result = CheckpointResult(
        "read", Phase.PROCESS, CheckStatus.PASS, score, 1.0, message, step=step
    )
    steps = tuple(
        Step(index, Decision(Action(tool, {})), Observation("ok"))
        for index, tool in enumerate(tools)
    )
    return Played(
        Verdict("scored", outcome=True, score=whole, checkpoints=(result,)), steps, "", (), 1.0
    )


def test_messages_count_where_both_runs_acted_alike():
    same = played(["wait", "submit"], "read before step 1", step=1)
    other = played(["wait", "submit"], "read before step 2", step=1)
    assert not judged_differently(same, same)
    assert "'read: read before step 1' and" in judged_differently(same, other)


def test_a_run_that_waited_longer_reaches_its_milestones_later():
    short = played(["wait", "submit"], "read before step 1", step=1)
    long = played(["wait", "wait", "submit"], "read before step 2", step=2)
    assert not judged_differently(short, long)


@pytest.mark.parametrize("steps", [["submit"], ["wait", "submit"]])
@pytest.mark.parametrize("other", [{"score": 0.5}, {"whole": 0.5}])
def test_other_scores_are_told_whatever_was_done(steps, other):
    assert judged_differently(played(["submit"], ""), played(steps, "", **other))
