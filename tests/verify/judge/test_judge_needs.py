"""Which checks ask a judge is seen in their code."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.errors import VerifierError
from agentgym.verify.judge.judged_checks import judged_checks

CHECKS = """
def plainly(evidence):
    return evidence.judge("x").met == "yes"

def _ask(evidence, text):
    def inner():
        return evidence.judge(text)
    return inner()

def through_another(evidence):
    return _ask(evidence, "y").score > 0

def in_a_list(evidence):
    return all(evidence.judge(text).met == "yes" for text in ("a", "b"))

def recursive(evidence):
    return recursive(evidence)

def not_at_all(evidence):
    "Would a judge like it?"
    return "judge" in evidence.answer
"""
RUBRIC = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "group"
kind = "all"
  [[checkpoint.checkpoint]]
  id = "leaf"
  use = "{use}"
  with = {{ note = {{ use = "judge.criterion" }} }}
"""


def asked(folder: Path, use: str) -> list[str]:
    (folder / "checks.py").write_text(CHECKS)
    (folder / "rubric.toml").write_text(RUBRIC.format(use=use))
    return judged_checks(folder)


@pytest.mark.parametrize(
    "use",
    [
        "checks.plainly",
        "checks.through_another",
        "checks.in_a_list",
        "judge.criterion",
        "judge.scale",
    ],
)
def test_a_check_that_asks(tmp_path: Path, use: str) -> None:
    assert asked(tmp_path, use) == [use]


@pytest.mark.parametrize("use", ["checks.not_at_all", "checks.recursive", "files.exists"])
def test_a_check_that_does_not(tmp_path: Path, use: str) -> None:
    assert asked(tmp_path, use) == []


def test_a_broken_rubric_is_told(tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match=r"judge\.criterium.*did you mean 'criterion'"):
        asked(tmp_path, "judge.criterium")
    (tmp_path / "rubric.toml").write_text("[")
    with pytest.raises(VerifierError, match=r"rubric\.toml"):
        judged_checks(tmp_path)


OPTIONAL = """
schema_version = "agentgym.rubric/1"
[[condition]]
id = "polite"
use = "checks.plainly"
[[condition]]
id = "curt"
use = "checks.in_a_list"
[[checkpoint]]
id = "group"
kind = "all"
only_if_judged = true
only_if = ["polite"]
  [[checkpoint.checkpoint]]
  id = "leaf"
  use = "judge.criterion"
[[checkpoint]]
id = "there"
use = "files.exists"
unless = ["curt"]
"""


def test_what_is_only_if_judged_demands_no_judge(tmp_path: Path) -> None:
    """Nor does a condition that nothing else names; one that decides about others does."""
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "rubric.toml").write_text(OPTIONAL)
    assert judged_checks(tmp_path, demanded=True) == ["checks.in_a_list"]
    assert set(judged_checks(tmp_path)) == {
        *("checks.plainly", "checks.in_a_list", "judge.criterion"),
    }
