"""The public reader of a run, and the examples of its page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentgym.errors import RecordError
from agentgym.record import EpisodePlan, RunStore, read_steps
from agentgym.records import Action, Decision, Generation, Observation, Step, TokenTrace, Verdict

PAGE = Path(__file__).parents[2] / "docs" / "record.md"


@pytest.fixture
def run(tmp_path):
    """A run with a scored episode, an unscored one and one that was not begun."""
    plans = [EpisodePlan("t/a-v1", seed, 0, "noop", group="g") for seed in range(3)]
    store = RunStore.create(tmp_path / "runs" / "demo", {}, plans)
    for episode_id, status in ((1, "scored"), (2, "error:sandbox")):
        recorder = store.begin(
            episode_id, params={}, instruction="", sandbox="x", reset_s=0, first=None
        )
        for index in range(2):
            trace = TokenTrace([1], [episode_id, index], [-0.5, -1.0])
            decision = Decision(Action("a"), generations=(Generation(trace, policy_version="p1"),))
            recorder.step(Step(index, decision, Observation("")))
        recorder.finish(Verdict(status, outcome=False, score=0.0), duration_s=1)
    store.close()
    return tmp_path


def told(found):
    return [
        (row.id, row.plan.group, step.decision.generations[0].tokens.completion_ids.tolist())
        for row, step in found
    ]


def test_every_step_comes_with_its_episode(run):
    first = [(1, "g", [1, 0]), (1, "g", [1, 1])]
    assert told(read_steps(run / "runs/demo")) == [*first, (2, "g", [2, 0]), (2, "g", [2, 1])]
    assert told(read_steps(str(run / "runs/demo"), scored=True)) == first


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(RecordError, match="is not a run folder"):
        next(read_steps(tmp_path))


def test_the_examples_of_the_page_run(run):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        if "agentgym.make" in block:
            continue  # tests/e2e/test_record_make.py plays it in a real sandbox
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=run, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        if "read_steps" in block:
            assert done.stdout.splitlines()[1] == "g 1 p1 [1 1] [-0.5 -1. ]"


def test_importing_the_package_loads_no_numpy():
    code = "import agentgym.record, sys; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
