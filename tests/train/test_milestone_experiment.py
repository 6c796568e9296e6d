"""The experiment of docs/learning.md: its task is sparse, and its script prints both curves."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="training")

from agentgym.records import CheckStatus
from agentgym.train.config import load_config

EXAMPLES = Path(__file__).parents[2] / "examples"
TASK = EXAMPLES / "sparse-terminal/four-in-order"
PARAMS = {"first": "red", "second": "blue", "third": "red", "fourth": "amber"}


def begins(text, count, exactly=False):
    spec = importlib.util.spec_from_file_location("four_in_order", TASK / "checks/checks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    after = SimpleNamespace(read=lambda path, max_bytes: text.encode())
    evidence = SimpleNamespace(after=after, params=PARAMS)
    return module.begins(evidence, count, exactly).status is CheckStatus.PASS


@pytest.mark.parametrize(
    ("text", "milestones", "solved"),
    [
        ("", 0, False),
        ("red\n", 1, False),
        ("red", 0, False),
        ("redblue\n", 0, False),
        ("red\nblue\n", 2, False),
        ("red\nblue\nblue\namber\n", 2, False),
        ("blue\nred\nblue\nred\namber\n", 0, False),
        ("red\nblue\nred\namber\n", 3, True),
        ("red\nblue\nred\namber", 3, False),
        ("red\nblue\nred\namber\n\n", 3, False),
        ("red\nblue\nred\namber\nred\n", 3, False),
    ],
)
def test_only_the_whole_order_is_a_score(text, milestones, solved):
    assert [begins(text, count) for count in (1, 2, 3)] == [n < milestones for n in range(3)]
    assert begins(text, 4, exactly=True) is solved


def test_both_arms_differ_in_step_rewards_alone():
    config = load_config(EXAMPLES / "sparse-terminal.toml")
    assert config.algorithm.step_rewards == {"milestones": 1.0}
    assert config.tasks == (str(TASK),)


@pytest.mark.full
@pytest.mark.slow
def test_the_script_prints_both_curves(tmp_path):
    done = subprocess.run(
        (sys.executable, EXAMPLES / "milestone_rewards.py", tmp_path / "runs", "1"),
        env={**os.environ, "AGENTGYM_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    heading, columns, *rows = done.stdout.splitlines()
    assert "with milestones" in heading and columns.count("held out") == 2
    assert [row.split()[0] for row in rows] == ["0", "1"]
    assert all(row.count("%") >= 2 for row in rows)
