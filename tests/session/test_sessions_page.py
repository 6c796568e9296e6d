"""The example of docs/sessions.md runs as it is printed, and its tables are complete."""

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from agentgym.record.store import RunStore
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.session.answers import FailureCode
from agentgym.session.config import SessionConfig

PAGE = (Path(__file__).parents[2] / "docs/sessions.md").read_text()
PROBLEMS = BubblewrapProvider().problems()


@pytest.mark.usefixtures("session_cache")
@pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")
def test_the_example(tmp_path):
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("e1 ") and len(first) > 20
    assert rest == ["2", "e2 1", "True Score(score=0.0, outcome=False)"]
    run = RunStore.open(tmp_path / "runs/sessions")
    rows = run.episodes()
    run.close()
    assert [(row.verdict.status, row.parent, row.steps) for row in rows] == [
        ("scored", None, 1), ("scored", (1, 1), 2),
    ]  # fmt: skip
    assert rows[0].error == "the trainer has seen enough"
    assert {row.plan.agent for row in rows} == {"python:trainer"}


def test_the_page_explains_every_code_and_every_term():
    rows = "\n".join(re.findall(r"^\| (`.*?) \|", PAGE, re.M))
    told = set(re.findall(r"`(\w+)`", rows))
    terms = {field.name for field in fields(SessionConfig)} - {"environments", "store"}
    assert {code.value for code in FailureCode} | terms <= told
