"""What of an episode becomes an exhibit, and what is left of it when there is too much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentgym.errors import VerifierError
from agentgym.records import (
    Action,
    Decision,
    Effect,
    Exhibit,
    Observation,
    Step,
    StepEvent,
    StepEventKind,
)
from agentgym.testing.checks import Link, evidence
from agentgym.verify.judge.exhibits import cut, gather
from agentgym.verify.judge.relevance import best, fit, overlap
from agentgym.verify.rubric.packs import find_check


def step(index: int, text: str = "", colour: int | None = None, **arguments: Any) -> Step:
    image = None if colour is None else np.full((2, 3, 3), colour, np.uint8)
    decision = Decision(Action("bash", arguments), thought="I mean well.")
    fault = StepEvent(StepEventKind.FAULT, "slow-disk", "timeout")
    seen = Observation(text, image, effect=Effect.ERROR)
    return Step(index, decision, seen, events=(fault,) if index == 1 else ())


def shown(*show: str, **episode: Any) -> list[tuple[str, str, str]]:
    files = episode.pop("after", {})
    found = gather(evidence(files, episode.pop("before", None), **episode), show)
    return [(e.id, e.title, e.text) for e in found]


def test_a_step_shows_what_was_done_and_seen_and_not_what_was_meant() -> None:
    steps = [step(0, "a\nb", command="ls\npwd", timeout_s=3), step(1)]
    first, second = shown("steps", steps=steps)
    assert first == (
        "E1",
        "Step 0",
        "The agent called bash\ncommand = ls\npwd\ntimeout_s = 3\nIt saw (effect: error):\na\nb",
    )
    assert "The world: fault slow-disk: timeout\n" in second[2]


@pytest.mark.parametrize(
    ("episode", "title", "text"),
    [
        ({"answer": "42"}, "The agent submitted this answer:", "42"),
        ({"answer": ""}, "The agent ended the episode with an empty answer", ""),
        ({}, "The agent submitted no answer: the episode was ended for it", ""),
        ({"gave_up": "no disk"}, "The agent gave up, saying:", "no disk"),
    ],
)
def test_how_it_ended(episode: dict[str, Any], title: str, text: str) -> None:
    assert shown("answer", **episode) == [("E1", title, text)]


def said(index: int, text: str, heard: str) -> Step:
    decision = Decision(Action("message_user", {"text": text}))
    return Step(index, decision, Observation(heard))


def test_messages_are_shown_each_with_what_was_heard_before_it() -> None:
    steps = [said(0, "Who is it?", "Ada.\nOf course."), step(1, command="ls"), said(2, "Bye", "")]
    first, second = shown("user", steps=steps, answer="done")
    assert first == ("E1", "A message of the agent: user, step 0", "Who is it?")
    title = "A message of the agent: user, step 2"
    assert second == ("E2", title, "The reader had said last: Ada.\nOf course.\n\nBye")
    assert shown("user", "user", steps=[]) == [("E1", "The agent wrote no message: user", "")]


@pytest.mark.parametrize("unwritten", ["fail", "not_applicable"])
def test_where_no_message_was_written_nobody_is_asked(tmp_path: Path, unwritten: str) -> None:
    criterion = find_check("judge.criterion", tmp_path)
    silent, speaking = evidence({}), evidence({}, answer="42")
    found = criterion(silent, criterion="It is so.", show=["answer"], unwritten=unwritten)
    assert found.status == unwritten and "no such message" in found.message
    for some, show in ((silent, ["answer", "steps"]), (speaking, ["answer"])):
        with pytest.raises(VerifierError, match="asks a judge and none is set"):
            criterion(some, criterion="It is so.", show=show, unwritten=unwritten)
    with pytest.raises(VerifierError, match="unwritten: expected ask"):
        criterion(silent, criterion="It is so.", show=["answer"], unwritten="pass")


@pytest.mark.parametrize("show", [[{"mial": "ada@x.example"}], ["letters"], [{}]])
def test_a_source_that_is_none_is_refused(show: Any) -> None:
    with pytest.raises(VerifierError):
        gather(evidence({}), show)


def test_changes_are_listed_one_a_line() -> None:
    ((_, title, text),) = shown(
        "changes", before={"/a": "1", "/b": "1"}, after={"/a": "2", "/c\nadded": "1"}
    )
    assert title == "Paths that differ from the start: 3"
    assert text.split("\n") == ["modified /a", "deleted /b", "added /c\\nadded"]


def test_many_changes_are_counted() -> None:
    ((_, _, text),) = shown("changes", after={f"/f{n:04}": "" for n in range(305)})
    assert text.endswith("added /f0299\n[5 more left out]")


def test_files_of_the_end_state() -> None:
    after = {
        "/srv/a.md": "one",
        "/srv/deep/b.md": "two",
        "/srv/c.txt": "three",
        "/srv/d.md": b"\xff\xfe\x00",
        "/srv/e.md": "",
        "/srv/f.md": "x" * 2**20 + "y",
        "/srv/g.md": Link("/srv/a.md"),
    }
    assert shown("files:/srv/*.md", after=after) == [
        ("E1", "File at the end: /srv/a.md", "one"),
        ("E2", "File at the end: /srv/d.md (3 bytes that are no UTF-8 text)", ""),
        ("E3", "File at the end: /srv/e.md (empty)", ""),
        ("E4", "File at the end: /srv/f.md (1048577 bytes, too long to show)", ""),
    ]
    assert [text for *_, text in shown("files:/srv/**", after=after)].count("two") == 1
    assert shown("files:/srv/c.txt", after=after) == [
        ("E1", "File at the end: /srv/c.txt", "three")
    ]
    for nothing in ("/srv/none.md", "/srv/*.csv", "/nowhere/**"):
        assert (
            shown(f"files:{nothing}", after=after)[0][1] == f"No file at the end matches {nothing}"
        )


def test_too_many_files_are_said_to_be() -> None:
    found = shown("files:/srv/*", after={f"/srv/{n:02}": "t" for n in range(33)})
    assert len(found) == 31
    assert found[-1][1] == "3 more files match /srv/* and are left out"


def test_of_equal_screens_in_a_row_the_last_is_shown() -> None:
    steps = [step(n, colour=c) for n, c in enumerate([1, 1, None, 1, 2, 1])]
    found = gather(evidence({}, steps=steps), ["screenshots"])
    assert [e.title for e in found] == [f"The screen after step {n}" for n in (3, 4, 5)]
    assert all(e.image is not None and e.kind == "screenshot" for e in found)


def test_ids_run_through_and_what_is_asked_twice_is_shown_once() -> None:
    found = shown("answer", "steps", "answer", steps=[step(0)], answer="a")
    assert [(e, t) for e, t, _ in found] == [
        ("E1", "The agent submitted this answer:"),
        ("E2", "Step 0"),
    ]


@pytest.mark.parametrize("show", [[], "steps", ["thoughts"], ["files:a"], ["files:"], [3]])
def test_what_cannot_be_shown(show: Any) -> None:
    with pytest.raises(VerifierError, match="show: expected"):
        gather(evidence({}), show)


def test_a_long_text_loses_its_middle() -> None:
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefgh", 4) == "ab\n[4 characters left out]\ngh"


def text_exhibit(number: int, text: str) -> Exhibit:
    return Exhibit(f"E{number}", "step", "t", text)


def test_what_has_least_to_do_with_the_criterion_is_shortened_first() -> None:
    assert overlap("The kettle is clean", "a clean, clean KETTLE") == pytest.approx(2 / 3)
    near, far = text_exhibit(1, "kettle " * 300), text_exhibit(2, "teapot " * 300)
    assert fit("kettle", [near, far], 4200) == [near, far]
    kept = fit("kettle", [near, far], 3000)
    assert kept[0] is near
    assert "characters left out" in kept[1].text and len(kept[1].text) < 1000
    both = fit("kettle", [near, far], 100)
    assert all(len(e.text) < 400 and "left out" in e.text for e in both)


def test_the_best_screens_stay_in_order() -> None:
    screens = [text_exhibit(n, "") for n in range(1, 6)]
    scores = {"E1": 3, "E2": 9, "E3": 3, "E4": 0, "E5": 3}
    assert [e.id for e in best(screens, scores, 3)] == ["E2", "E3", "E5"]
