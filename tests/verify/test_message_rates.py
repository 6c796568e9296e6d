"""The rates of tasks' message checks, without a judge and with one, and the page of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentgym import catalogue
from agentgym.records import Criterion, Exhibit, Judgement, Met, Vote
from agentgym.task.load import find_task
from agentgym.task.model import Instance, Task, TaskManifest
from agentgym.verify.calibration.message_rates import COMMAND, rates_page, task_rates
from agentgym.verify.calibration.rates import Rate

PAGE = Path(__file__).parents[2] / "docs" / "calibration.md"
RUBRIC = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "said"
use = "messages.keeps_to"
[checkpoint.with]
sources = [{ mail = "ada@x.example", alone = true }]
may = [42]
holds = ["number 42"]
[[checkpoint]]
id = "words"
phase = "safety"
gate = true
only_if_judged = true
use = "judge.criterion"
[checkpoint.with]
criterion = "The number is {{n}}."
show = [{ mail = "ada@x.example" }]
unclear = "not_applicable"
"""
TEXTS = {
    "The number is 42.": "pass",
    "The number, 42.": "pass",
    "The number is never 42.": "fail",
    "The number is maybe 42.": "fail",
    "The number is 43.": "fail",
}


class Doubter:
    """A judge that reads: it says no to what is shown with a word in it."""

    name, grading_s = "doubter", 1.0

    def __init__(self, word: str, otherwise: Met = Met.YES) -> None:
        self.word, self.otherwise = word, otherwise
        self.asked: list[tuple[str, str]] = []

    def decide(
        self, criterion: Criterion, exhibits: Sequence[Exhibit], **options: Any
    ) -> Judgement:
        (shown,) = exhibits
        self.asked.append((criterion.text, shown.text))
        met = Met.NO if self.word in shown.text else self.otherwise
        return Judgement(met, "", 0.0, "", (), (Vote(met.value, "", ()),), self.name)


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "rubric.toml").write_text(RUBRIC)
    cases = "".join(
        f'[[message]]\ncheck = "said"\nexpect = "{expect}"\ntext = "{text}"\n'
        for text, expect in TEXTS.items()
    )
    texts = f'schema_version = "agentgym.message-cases/1"\n{cases}'
    (tmp_path / "checks" / "calibration.toml").write_text(texts)
    fields = {"id": "test/case-v1", "title": "t", "difficulty": "easy", "env": "office"}
    manifest = TaskManifest.model_validate({"schema_version": "agentgym.task/1", **fields})
    return Instance(Task("test/case-v1", tmp_path, manifest, ""), 0, {"n": "42"}, "")


def test_without_a_judge_a_licensed_doubt_passes(instance: Instance) -> None:
    found = task_rates(instance)
    assert found is not None and found.judged is None
    assert (found.bad_passed, found.good_failed) == (Rate(1, 3), Rate(0, 2))
    assert (found.given, found.checks) == (1, 1)


def test_a_judge_is_asked_about_what_passes_and_its_mistakes_count(instance: Instance) -> None:
    doubter = Doubter("maybe")
    found = task_rates(instance, doubter)
    assert found is not None and found.judged == (Rate(0, 3), Rate(0, 2))
    passing = ["The number is 42.", "The number, 42.", "The number is maybe 42."]
    assert doubter.asked == [("The number is 42.", text) for text in passing]
    wrong = task_rates(instance, Doubter("The number, 42"))
    assert wrong is not None and wrong.judged == (Rate(1, 3), Rate(1, 2))


def test_what_a_judge_cannot_decide_is_left_to_the_checks(instance: Instance) -> None:
    found = task_rates(instance, Doubter("never shown", Met.UNCLEAR))
    assert found is not None and found.judged == (Rate(1, 3), Rate(0, 2))


def test_the_page_has_the_rates_of_both(instance: Instance) -> None:
    without, judged = task_rates(instance), task_rates(instance, Doubter("maybe"))
    assert without is not None and judged is not None
    assert "| 1 of 3 (6–79%) | 0 of 2 (0–66%) | 1 of 1 | – | – |" in rates_page([without])
    page = rates_page([judged], "stand-in:doubter")
    assert "`stand-in:doubter`" in page
    assert "| 1 of 1 | 0 of 3 (0–56%) | 0 of 2 (0–66%) |" in page


def test_a_judge_changes_nothing_where_no_gate_asks_it(instance: Instance) -> None:
    path = instance.task.folder / "checks" / "rubric.toml"
    path.write_text(RUBRIC.replace("gate = true\nonly_if_judged = true\n", ""))
    doubter = Doubter("maybe")
    for found in (task_rates(instance), task_rates(instance, doubter)):
        assert found is not None and found.judged == (found.bad_passed, found.good_failed)
        assert found.given == 0
    assert not doubter.asked


def test_the_published_page_is_what_the_command_writes() -> None:
    found = [task_rates(find_task(name).instance(0)) for name in catalogue.match_tasks("tools")]
    assert PAGE.read_text(encoding="utf-8") == rates_page(one for one in found if one), (
        f"run: {COMMAND}"
    )
