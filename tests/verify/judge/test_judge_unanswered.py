"""What an agent wrote may keep a model from answering; that must not unscore its episode."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from chat_server import Dropped, Endless, Raw, Status, says
from reader import Reader

from agentgym.errors import VerifierError
from agentgym.records import Criterion, Exhibit, Level, Met
from agentgym.verify.judge.unanswered import MOST_REDUCED, REDUCED_CHARS, reduced

SAYS = Criterion('an exhibit says "kettle"')
SCALE = Criterion(SAYS.text, (Level("bad", 0.0), Level("good", 1.0)))
POISON = "POISON"
LONG = Exhibit("E1", "file", "a", "kettle " + "x" * 40_000 + POISON + "x" * 40_000)
SHORT = Exhibit("E2", "answer", "b", f"kettle {POISON}")


def refuses(_: Any) -> Any:
    return says(content=None, refusal="I cannot help with that.")


def babbles(_: Any) -> Any:
    return says(content="yes, yes, yes")


def finds_it_too_long(_: Any) -> Any:
    return Status(400, "maximum context length is 100 tokens")


def filters(_: Any) -> Any:
    return Status(400, "The content was filtered.")


def filters_in_a_reply(_: Any) -> Any:
    return Raw(b'{"error": {"code": "content_filter", "message": "blocked"}}')


def talks_without_end(_: Any) -> Any:
    return Raw(b'{"choices": [' + b"{}," * 250_000 + b"{}]}")


PROVOKED = [
    *(refuses, babbles, finds_it_too_long, filters),
    *(filters_in_a_reply, talks_without_end),
]
by_name = pytest.mark.parametrize("fails", PROVOKED, ids=lambda script: script.__name__)


def provoked(fails: Callable[[Any], Any], mark: str = POISON) -> Callable[[Any], Any]:
    """Fail where a mark stands in the request, else read."""
    reader = Reader()
    return lambda request: fails(request) if mark in json.dumps(request) else reader(request)


@by_name
def test_what_is_cut_away_no_longer_keeps_it_from_answering(
    serve: Any, make: Any, fails: Any
) -> None:
    serve(provoked(fails))
    found = make().decide(SAYS, [LONG])
    assert (found.met, found.cited) == (Met.YES, ("E1",))
    assert "Shown less, because: " in found.reasons


@by_name
def test_what_still_keeps_it_from_answering_is_not_met(serve: Any, make: Any, fails: Any) -> None:
    server = serve(provoked(fails))
    judge = make()
    found = judge.decide(SAYS, [LONG, SHORT], votes=2)
    assert (found.met, found.score, len(found.votes)) == (Met.NO, 0.0, 2)
    assert "the judge refused, or gave no usable answer about what was left" in found.reasons
    lowest = make().decide(SCALE, [SHORT])
    assert (lowest.met, lowest.level, lowest.score) == (None, "bad", 0.0)
    # The control was answered once; the same judge does not ask it again.
    controls = [r for r in server.requests if POISON not in json.dumps(r)]
    assert len(controls) == 2
    judge.decide(SAYS, [Exhibit("E1", "answer", "c", f"more {POISON}")])
    assert len([r for r in server.requests if POISON not in json.dumps(r)]) == 2


@by_name
def test_a_model_that_cannot_answer_at_all_is_an_error(serve: Any, make: Any, fails: Any) -> None:
    serve(provoked(fails, mark="kettle"))  # the criterion itself has the word
    with pytest.raises(VerifierError, match="about an empty exhibit: "):
        make().decide(SAYS, [SHORT])


@pytest.mark.parametrize(
    "outage",
    [Status(500), Status(429), Status(401), Status(403), Status(404), Endless("headers")],
    ids=lambda one: str(getattr(one, "code", "timeout")),
)
@pytest.mark.parametrize("answered_before", [0, 2, 4])
def test_an_outage_is_an_error_whenever_it_comes(
    serve: Any, make: Any, outage: Any, answered_before: int
) -> None:
    # Two unusable answers about all of it, two about less: then the control.
    asked: list[Any] = []

    def script(request: Any) -> Any:
        asked.append(request)
        return babbles(request) if len(asked) <= answered_before else outage

    serve(script)
    with pytest.raises(VerifierError, match=r"answered \d+|no complete reply|no answer within"):
        make("reader?retries=0&timeout_s=2").decide(SAYS, [SHORT])


def test_a_text_on_which_the_server_fails_is_not_met(serve: Any, make: Any) -> None:
    # Servers fail so at what their parsers cannot read, which the agent can write.
    serve(provoked(lambda _: Status(500, "unexpected character")))
    found = make("reader?retries=0").decide(SAYS, [SHORT])
    assert (found.met, found.score) == (Met.NO, 0.0)
    assert "answered 500" in found.reasons
    cut = make("reader?retries=0").decide(SAYS, [LONG])
    assert cut.met == Met.YES and "Shown less, because: " in cut.reasons


def test_an_answer_that_the_server_cannot_read_is_asked_for_again(serve: Any, make: Any) -> None:
    unread = Status(500, "Failed to parse input at pos 3")
    fails = iter([unread])
    server = serve(lambda request: next(fails, None) or Reader()(request))
    found = make("reader?retries=0").decide(SAYS, [Exhibit("E1", "file", "a", "the kettle")])
    assert found.met == Met.YES and "Shown less" not in found.reasons
    assert "could not be read" in server.requests[1]["messages"][-1]["content"]
    serve(provoked(lambda _: unread))
    assert make("reader?retries=0").decide(SAYS, [SHORT]).met == Met.NO


@pytest.mark.parametrize("failure", [Dropped(), Status(504)], ids=["dropped", "504"])
def test_a_text_at_which_connections_end_is_not_met(serve: Any, make: Any, failure: Any) -> None:
    serve(provoked(lambda _: failure))
    assert make("reader?retries=0").decide(SAYS, [SHORT]).met == Met.NO


def test_a_server_that_fails_again_about_less_is_asked_whether_it_works(
    serve: Any, make: Any
) -> None:
    asked: list[Any] = []

    def script(request: Any) -> Any:
        asked.append(request)
        return Status(500) if len(asked) <= 2 else Reader()(request)

    serve(script)
    # It was down for the first request and the control.
    with pytest.raises(VerifierError, match="about an empty exhibit: .*answered 500"):
        make("reader?retries=0").decide(SAYS, [SHORT])
    assert len(asked) == 2


def test_a_server_that_was_down_for_a_moment_reads_all_of_it(serve: Any, make: Any) -> None:
    down = iter([Status(500)])
    serve(lambda request: next(down, None) or Reader()(request))
    middle = Exhibit("E1", "file", "a", "x" * 20_000 + " kettle " + "x" * 20_000)
    found = make("reader?retries=0").decide(SAYS, [middle])
    assert found.met == Met.YES and "Shown less" not in found.reasons


def writes_on_and_on(request: Any) -> Any:
    if "max_completion_tokens" not in request:
        return Endless("headers")
    return says(content='{"reasons": "kettle kettle kettle'[: request["max_completion_tokens"]])


def test_a_reply_without_an_end_is_unusable_where_replies_are_bounded(
    serve: Any, make: Any
) -> None:
    serve(provoked(writes_on_and_on))
    bounded = make("reader?retries=0&timeout_s=20&max_tokens=30").decide(SAYS, [SHORT])
    assert bounded.met == Met.NO
    assert "gave no usable answer about what was left" in bounded.reasons


def test_a_text_that_makes_it_write_without_end_is_not_met(
    serve: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym.verify.judge.model.PROMPT_SHARE", 20)
    server = serve(provoked(writes_on_and_on))
    judge = make("reader?retries=0&timeout_s=2")
    endless = Exhibit("E1", "file", "a", POISON + "x" * 2_000 + POISON)
    found = judge.decide(SAYS, [endless])
    assert (found.met, found.score) == (Met.NO, 0.0)
    assert "no complete reply within 2 s" in found.reasons
    # What made it late is not shown again, so another question about it takes no time.
    asked = len([r for r in server.requests if POISON in json.dumps(r)])
    other = judge.decide(Criterion('an exhibit says "pan"'), [endless])
    assert len([r for r in server.requests if POISON in json.dumps(r)]) == asked
    assert "left out" in json.dumps(server.requests[-1]) and other.votes


def test_late_replies_take_no_more_than_the_time_for_a_criterion(
    serve: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym.verify.judge.model.PROMPT_SHARE", 2)
    serve(provoked(writes_on_and_on))
    judge = make("reader?retries=0&timeout_s=2&grading_s=4")
    found = judge.decide(SAYS, [SHORT], timeout_s=judge.grading_s)
    assert (found.met, found.score) == (Met.NO, 0.0)
    # The page's own example: a reply about all, one about less, one about an empty exhibit.
    assert make("reader?timeout_s=300").grading_s >= 2.25 * 300


def test_a_text_beside_one_that_makes_it_late_is_shown_to_others(
    serve: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent must not keep the judge from what other agents left as they found it, too."""
    monkeypatch.setattr("agentgym.verify.judge.model.PROMPT_SHARE", 20)
    serve(provoked(writes_on_and_on))
    judge = make("reader?retries=0&timeout_s=1")
    shared = Exhibit("E1", "file", "everybody has it", "kettle " + "y" * 3_000)
    endless = Exhibit("E2", "file", "a", POISON + "x" * 2_000 + POISON)
    assert judge.decide(SAYS, [shared, endless]).met == Met.NO
    other = Criterion(f"{SAYS.text} again")
    found = judge.decide(other, [shared])
    assert (found.met, found.left_out) == (Met.YES, ())


def test_a_server_that_is_slow_with_everything_is_an_error(
    serve: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym.verify.judge.model.PROMPT_SHARE", 0)
    serve(provoked(writes_on_and_on))
    with pytest.raises(VerifierError, match="an empty exhibit: no answer within 0 s either"):
        make("reader?retries=0&timeout_s=1").decide(SAYS, [SHORT])


def test_the_longest_are_cut_and_pictures_dropped() -> None:
    picture = Exhibit("E3", "screenshot", "The screen", image=np.zeros((4, 6, 3), np.uint8))
    long, short, screen = reduced([LONG, SHORT, picture])
    assert short.text == SHORT.text and POISON not in long.text
    assert REDUCED_CHARS / 2 < len(long.text) < REDUCED_CHARS + 100
    assert screen.image is None and screen.text == "[the picture is left out]"


def test_of_very_many_the_first_and_the_last_are_kept() -> None:
    many = [Exhibit(f"E{n}", "step", f"Step {n}", "y" * 500) for n in range(1000)]
    found = reduced(many)
    assert len(found) == MOST_REDUCED
    assert (found[0].id, found[-1].id) == ("E0", "E999")
    assert sum(len(one.text) for one in found) < 2 * REDUCED_CHARS
