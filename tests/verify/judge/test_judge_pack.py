"""The check pack `judge`, from a judgement to the result of a check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import says
from reader import Reader

from agentgym.errors import VerifierError
from agentgym.records import Action, CheckResult, CheckStatus, Decision, Observation, Step
from agentgym.testing.checks import evidence
from agentgym.verify.rubric.packs import load_pack

CHECKS = load_pack(Path(__file__).parents[3] / "verifiers" / "judge").checks
LEVELS = [
    {"name": "low", "score": 0, "meaning": "It is not there."},
    {"name": "mid", "score": 0.4},
    {"name": "high", "score": 1},
]
SAYS = 'an exhibit says "kettle"'


def answering(*answers: str) -> list[Any]:
    given = [{"reasons": "So it is.", "cited": ["E1"], "answer": a} for a in answers]
    return [says(content=json.dumps(answer)) for answer in given]


@pytest.mark.parametrize(
    ("answers", "unclear", "status"),
    [
        (("yes",), "fail", CheckStatus.PASS),
        (("no",), "fail", CheckStatus.FAIL),
        (("unclear",), "fail", CheckStatus.FAIL),
        (("unclear",), "error", CheckStatus.ERROR),
        (("unclear",), "not_applicable", CheckStatus.NOT_APPLICABLE),
        (("yes", "no"), "error", CheckStatus.ERROR),
        (("no", "no"), "error", CheckStatus.FAIL),
    ],
)
def test_a_criterion_becomes_a_result(
    serve: Any, make: Any, answers: tuple[str, ...], unclear: str, status: CheckStatus
) -> None:
    serve(answering(*answers))
    seen = evidence({}, answer="a")
    seen.judge_with = make()
    found = CHECKS["criterion"](
        seen, criterion="x", show=["answer"], votes=len(answers), unclear=unclear
    )
    assert isinstance(found, CheckResult) and found.status is status
    assert "So it is. [E1]" in found.message
    assert found.message.startswith("reader: ")


@pytest.mark.parametrize(
    ("answer", "pass_from", "status", "score"),
    [
        ("high", 1.0, CheckStatus.PASS, 1.0),
        ("mid", 1.0, CheckStatus.FAIL, 0.4),
        ("mid", 0.4, CheckStatus.PASS, 0.4),
        ("low", 0.4, CheckStatus.FAIL, 0.0),
    ],
)
def test_a_scale_becomes_a_result(
    serve: Any, make: Any, answer: str, pass_from: float, status: CheckStatus, score: float
) -> None:
    serve(answering(answer))
    seen = evidence({}, answer="a")
    seen.judge_with = make()
    found = CHECKS["scale"](seen, criterion="x", levels=LEVELS, pass_from=pass_from)
    assert isinstance(found, CheckResult)
    assert (found.status, found.score) == (status, score)


def test_what_is_shown_is_what_the_rubric_says(serve: Any, make: Any) -> None:
    reader = Reader()
    serve(reader)
    seen = evidence({"/srv/a.md": "a kettle"}, answer="a teapot")
    seen.judge_with = make()
    ask = CHECKS["criterion"]
    results = [ask(seen, criterion=SAYS, show=[s]) for s in ("answer", "files:/srv/*.md")]
    assert [r.status for r in results if isinstance(r, CheckResult)] == [
        CheckStatus.FAIL,
        CheckStatus.PASS,
    ]
    assert [[e.kind for e in shown] for shown in reader.seen] == [["answer"], ["file"]]


LIE = "kettle"
NOTES = "files:/root/**"
LONG = Step(0, Decision(Action("bash", {"command": "x" * 9_000})), Observation("y" * 50_000))
HIDDEN: list[tuple[str, dict[str, Any], str]] = [
    ("in the middle of a file", {"after": {"/root/a": "x" * 12_000 + LIE + "x" * 12_000}}, NOTES),
    ("in the last of many files", {"after": {f"/root/{n:02}": "x" for n in range(41)}}, NOTES),
    ("in a large file", {"after": {"/root/a": LIE + " " * 1_100_000}}, NOTES),
    ("in odd bytes", {"after": {"/root/a": b"\xfe\xff" * 40}}, NOTES),
    ("in a long answer", {"answer": "x" * 6_000 + LIE + "x" * 6_000}, "answer"),
    ("in a long reason", {"gave_up": "x" * 6_000 + LIE + "x" * 6_000}, "answer"),
]


@pytest.mark.parametrize("unclear", ["fail", "not_applicable", "error"])
@pytest.mark.parametrize(("where", "episode", "show"), HIDDEN)
def test_a_yes_about_texts_that_hide_something_does_not_count(
    serve: Any, make: Any, where: str, episode: dict[str, Any], show: str, unclear: str
) -> None:
    serve(answering("yes"))
    episode = dict(episode)
    seen = evidence(episode.pop("after", {}), **episode)
    seen.judge_with = make()
    asked: dict[str, Any] = {"criterion": "It holds no lie.", "show": [show], "unclear": unclear}
    found = CHECKS["criterion"](seen, **asked)
    assert isinstance(found, CheckResult) and found.status is CheckStatus.FAIL, where
    assert "could not be shown in whole" in found.message
    found = CHECKS["criterion"](seen, **asked, left_out="ignore")
    assert isinstance(found, CheckResult) and found.status is CheckStatus.PASS


def test_texts_that_the_judge_had_no_room_for_do_not_count_either(serve: Any, make: Any) -> None:
    serve(answering("yes", "high"))
    seen = evidence({f"/root/{n}": "x" * 10_000 for n in range(4)})
    seen.judge_with = make(argument="reader?retries=0&timeout_s=20&context_tokens=4000")
    found = CHECKS["criterion"](seen, criterion="It holds no lie.", show=[NOTES])
    assert isinstance(found, CheckResult) and found.status is CheckStatus.FAIL
    scaled = CHECKS["scale"](seen, criterion="x", levels=LEVELS, show=[NOTES])
    assert isinstance(scaled, CheckResult) and scaled.status is CheckStatus.FAIL


@pytest.mark.parametrize(
    "episode",
    [
        {"after": {"/root/a": LIE + "\n" * 100_000}},
        {"after": {"/root/a": b"a caf\xe9, " + LIE.encode() + b"\xff"}},
        {"steps": [LONG], "answer": LIE},
    ],
)
def test_a_yes_about_texts_that_are_shown_counts(
    serve: Any, make: Any, episode: dict[str, Any]
) -> None:
    reader = Reader()
    serve(reader)
    episode = dict(episode)
    seen = evidence(episode.pop("after", {}), **episode)
    seen.judge_with = make()
    show = ["steps", "answer", NOTES]
    found = CHECKS["criterion"](seen, criterion=SAYS, show=show)
    assert isinstance(found, CheckResult) and found.status is CheckStatus.PASS
    assert any(LIE in exhibit.text for exhibit in reader.seen[0])


def test_without_a_judge_the_next_step_is_said() -> None:
    with pytest.raises(VerifierError, match="none is set; name one with --judge openai:MODEL"):
        CHECKS["criterion"](evidence({}), criterion="x")
