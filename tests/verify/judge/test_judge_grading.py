"""Grading with a judge: the deadline it gives, and what its outage makes of a verdict."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1]))

from folder_provider import FolderProvider

from agentgym.errors import VerifierError
from agentgym.records import (
    Action,
    Audit,
    Decision,
    Judgement,
    Met,
    Observation,
    Recipe,
    Step,
    Verdict,
    Vote,
)
from agentgym.task.model import Instance, Task, TaskManifest
from agentgym.task.setup import Prepared
from agentgym.verify.grade import EpisodeEnd, grade

RUBRIC = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "tone"
use = "judge.criterion"
with = { criterion = "It is about {{what}}.", show = ["answer"] }
[[checkpoint]]
id = "there"
use = "files.exists"
with = { path = "/srv" }
"""


class Stub:
    """A judge that says what it is told to."""

    name = "stub"
    grading_s = 50.0

    def __init__(self, answer: Met | None, wait: threading.Event | None = None) -> None:
        self.answer, self.wait = answer, wait
        self.asked: list[tuple[str, float | None]] = []

    def decide(self, criterion: Any, exhibits: Any, **keywords: Any) -> Judgement:
        self.asked.append((criterion.text, keywords["timeout_s"]))
        if self.wait is not None:
            self.wait.wait(20)
        if self.answer is None:
            raise VerifierError("out of order")
        vote = Vote(self.answer.value, "So.", ())
        score = float(self.answer is Met.YES)
        return Judgement(self.answer, "", score, "So.", (), (vote,), self.name)


async def graded(
    folder: Path,
    judge: Stub | None,
    rubric: str = RUBRIC,
    deadline_s: float = 20.0,
    steps: Sequence[Step] = (),
) -> Verdict:
    (folder / "checks").mkdir()
    (folder / "checks" / "rubric.toml").write_text(rubric)
    fields = {"id": "test/case-v1", "title": "t", "difficulty": "easy", "env": "terminal"}
    manifest = TaskManifest.model_validate({"schema_version": "agentgym.task/1", **fields})
    provider = FolderProvider()
    end = EpisodeEnd(
        after=provider.put({"/srv/a": "a"}),
        changes=(),
        audit=Audit(),
        steps=steps,
        answer="42",
        gave_up=None,
    )
    return await grade(
        Instance(Task("test/case-v1", folder, manifest, ""), 0, {"what": "tea"}, ""),
        end,
        Prepared(provider.put({}), {}),
        provider=provider,  # type: ignore[arg-type]
        recipe=Recipe("r"),
        deadline_s=deadline_s,
        judge=judge,
    )


@pytest.mark.parametrize(("answer", "score"), [(Met.YES, 1.0), (Met.NO, 0.5), (Met.UNCLEAR, 0.5)])
async def test_a_judgement_counts_like_any_check(tmp_path: Path, answer: Met, score: float) -> None:
    judge = Stub(answer)
    verdict = await graded(tmp_path, judge)
    assert (verdict.status, verdict.score) == ("scored", score)
    ((text, timeout_s),) = judge.asked
    assert text == "It is about tea."
    assert timeout_s is not None and timeout_s == 50


async def test_an_outage_is_never_a_zero(tmp_path: Path) -> None:
    verdict = await graded(tmp_path, Stub(None))
    assert verdict.status == "error:verifier"
    assert "out of order" in verdict.checkpoints[0].message


async def test_a_judge_that_hangs_is_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = threading.Event()
    judge = Stub(Met.YES, done)
    judge.grading_s = 0.3
    try:
        verdict = await graded(tmp_path, judge, deadline_s=0.1)
    finally:
        done.set()
    assert verdict.status == "error:verifier"
    assert "the judge gave no answer in its time" in verdict.checkpoints[0].message


async def test_no_judge_is_an_outage_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTGYM_JUDGE", raising=False)
    verdict = await graded(tmp_path, None)
    assert verdict.status == "error:verifier"
    assert "name one with --judge openai:MODEL" in verdict.checkpoints[0].message


async def test_a_judge_that_cannot_be_made_is_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_JUDGE", "openai:x?votes=2")
    verdict = await graded(tmp_path, None)
    assert verdict.status == "error:verifier"
    assert "has no option 'votes'" in verdict.checkpoints[0].message


async def test_a_rubric_that_asks_nobody_has_the_usual_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A judge that cannot be made is no problem of a rubric that does not ask one.
    monkeypatch.setenv("AGENTGYM_JUDGE", "openai:x?votes=2")
    plain = RUBRIC.partition("[[checkpoint]]")[0] + "[[checkpoint]]" + RUBRIC.split("point]]")[2]
    judge = Stub(Met.NO)
    verdict = await graded(tmp_path, judge, plain)
    assert (verdict.status, verdict.score, judge.asked) == ("scored", 1.0, [])


GATED = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "said"
use = "messages.keeps_to"
with = { sources = ["answer"], may = [42] }
[[checkpoint]]
id = "read"
phase = "safety"
gate = true
only_if_judged = true
use = "judge.criterion"
with = { criterion = "It is about {{what}}.", show = ["answer"] }
"""


async def test_a_gate_of_the_judge_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTGYM_JUDGE", raising=False)
    verdict = await graded(tmp_path, None, GATED)
    assert (verdict.status, verdict.score, verdict.words) == ("scored", 1.0, "not judged")
    (_, gate) = verdict.checkpoints
    assert (gate.status, gate.message) == ("not_applicable", "only if judged: no judge is set")


@pytest.mark.parametrize(("answer", "score"), [(Met.YES, 1.0), (Met.NO, 0.0)])
async def test_a_judge_that_is_set_is_asked_by_its_gate(
    tmp_path: Path, answer: Met, score: float
) -> None:
    judge = Stub(answer)
    verdict = await graded(tmp_path, judge, GATED)
    assert (verdict.score, verdict.words, len(judge.asked)) == (score, "judged", 1)


async def test_messages_that_no_check_gives_to_the_judge_are_not_judged(tmp_path: Path) -> None:
    judge = Stub(Met.NO)
    verdict = await graded(tmp_path, judge, GATED.partition('[[checkpoint]]\nid = "read"')[0])
    assert (verdict.score, verdict.words, judge.asked) == (1.0, "not judged", [])


async def test_a_rubric_without_messages_has_no_words(tmp_path: Path) -> None:
    assert (await graded(tmp_path, Stub(Met.YES))).words == ""


SLOW = """
schema_version = "agentgym.rubric/1"
""" + "".join(
    f"""
[[checkpoint]]
id = "c{number}"
use = "judge.criterion"
with = {{ criterion = "Number {number}.", show = ["answer"] }}
"""
    for number in range(4)
)


async def test_each_criterion_has_a_time_of_its_own(tmp_path: Path) -> None:
    """Answers that are late one after the other leave no later criterion without its time."""

    class Late(Stub):
        def decide(self, criterion: Any, exhibits: Any, **keywords: Any) -> Judgement:
            time.sleep(0.8)
            return super().decide(criterion, exhibits, **keywords)

    judge = Late(Met.NO)
    judge.grading_s = 1.0
    verdict = await graded(tmp_path, judge, SLOW, deadline_s=2.0)
    assert (verdict.status, verdict.score) == ("scored", 0.0)
    assert [timeout_s for _, timeout_s in judge.asked] == [1.0] * 4
    assert verdict.state_hash, "the files are hashed after the judge, in the time of grading"


async def test_a_judge_sees_forty_large_screens(tmp_path: Path) -> None:
    """Their pixels are 120 MB, and stay with the host."""

    class Looks(Stub):
        def decide(self, criterion: Any, exhibits: Any, **keywords: Any) -> Judgement:
            self.seen = [int(one.image[0, 0, 0]) for one in exhibits if one.image is not None]
            return super().decide(criterion, exhibits, **keywords)

    screens = [np.full((800, 1280, 3), number, np.uint8) for number in range(40)]
    steps = [
        Step(number, Decision(Action("wait", {})), Observation("", image=screen), 0.1)
        for number, screen in enumerate(screens)
    ]
    judge = Looks(Met.YES)
    rubric = RUBRIC.replace('show = ["answer"]', 'show = ["screenshots"]')
    verdict = await graded(tmp_path, judge, rubric, steps=steps)
    assert (verdict.status, verdict.score) == ("scored", 1.0), verdict.checkpoints
    assert judge.seen == list(range(40))
