"""The examples for TRL with TRL 1.16, in a virtual environment of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINNED = ("torch==2.13.0", "trl==1.16.0")


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(1800)  # an index may be slow
def test_the_examples_train(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    install = (python, "-m", "pip", "install", "-q", "-e", f"{ROOT}[train-hf]", *PINNED)
    subprocess.run(install, check=True)
    done = subprocess.run(
        (python, ROOT / "tests/bridges/trl_program.py", tmp_path),
        env={**os.environ, "TRL_EXPERIMENTAL_SILENCE": "1", "AGENTGYM_CACHE": str(tmp_path / "c")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"example"')]
    assert [each["example"] for each in told] == ["trl_rollouts", "trl_environment"]
    for each in told:
        assert each["missing"] == []
        assert each["reward"] == 0.0  # random tokens make no call
        assert each["completions/min_length"] > 0
