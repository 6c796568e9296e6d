"""A judge against a real HTTP server: what is sent, what is taken for an answer, what fails."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import Dropped, Endless, Raw, Status, call, says
from reader import Reader

from agentgym.errors import ConfigError, VerifierError
from agentgym.records import Criterion, Exhibit, Level, Met
from agentgym.verify.judge.cache import AnswerCache
from agentgym.verify.judge.model import ModelJudge
from agentgym.verify.judge.opening import open_judge

SAYS = Criterion('an exhibit says "kettle"')
E1 = Exhibit("E1", "step", "Step 0", "The agent called bash\ncommand = ls\nIt saw:\nkettle")
E2 = Exhibit("E2", "answer", "The agent submitted this answer:", "a teapot")
SCALE = Criterion(
    SAYS.text, (Level("bad", 0.0, "nothing"), Level("fair", 0.5), Level("good", 1.0, "all of it"))
)


def screen(number: int, colour: tuple[int, int, int]) -> Exhibit:
    image = np.zeros((4, 6, 3), np.uint8)
    image[:] = colour
    return Exhibit(f"E{number}", "screenshot", f"The screen after step {number}", image=image)


def answering(*answers: Any) -> list[Any]:
    return [says(content=a if isinstance(a, str) else json.dumps(a)) for a in answers]


def good(cited: tuple[str, ...] = ("E1",), answer: str = "yes") -> dict[str, Any]:
    return {"reasons": "Because.", "cited": list(cited), "answer": answer}


# --- a decision -----------------------------------------------------------------------------


def test_a_criterion_is_decided_by_what_is_shown(serve: Any, make: Any) -> None:
    reader = Reader()
    server = serve(reader)
    found = make().decide(SAYS, [E1, E2])
    assert (found.met, found.score, found.cited) == (Met.YES, 1.0, ("E1",))
    assert found.judge == "reader" and found.reasons == "1 exhibits show 'kettle'."
    assert make().decide(SAYS, [E2]).met is Met.NO
    assert [[(e.id, e.kind, e.text) for e in shown] for shown in reader.seen][0] == [
        ("E1", "step", f"Step 0\n{E1.text}\n"),
        ("E2", "answer", "The agent submitted this answer:\na teapot\n"),
    ]
    assert server.headers[0]["authorization"] == "Bearer secret"
    assert "temperature" not in server.requests[0]


def test_a_scale_gives_the_score_of_a_level(serve: Any, make: Any) -> None:
    server = serve(Reader())
    assert (make().decide(SCALE, [E1]).level, make().decide(SCALE, [E1]).score) == ("good", 1.0)
    lowest = make().decide(SCALE, [E2])
    assert (lowest.met, lowest.level, lowest.score) == (None, "bad", 0.0)
    (text, *_) = server.requests[0]["messages"][1]["content"]
    assert "- bad: nothing\n- fair\n- good: all of it\n" in text["text"]


@pytest.mark.parametrize("form", ["tool", "json_object"])
def test_a_server_without_schemas_is_asked_otherwise_and_it_is_remembered(
    serve: Any, make: Any, form: str
) -> None:
    server = serve(Reader(forms=(form,)))
    judge = make()
    assert judge.decide(SAYS, [E1]).met is Met.YES
    refused = {"tool": 1, "json_object": 2}[form]
    assert len(server.requests) == refused + 1
    assert judge.decide(SAYS, [E2]).met is Met.NO
    assert len(server.requests) == refused + 2


def test_options_reach_the_server(serve: Any, make: Any) -> None:
    server = serve(Reader())
    make("reader?temperature=0&retries=0").decide(SAYS, [E1])
    assert (server.requests[0]["model"], server.requests[0]["temperature"]) == ("reader", 0.0)


# --- screenshots ----------------------------------------------------------------------------

DARK = [screen(n, (0, 0, 40)) for n in range(1, 20)]


def test_of_many_screens_the_most_relevant_are_shown_in_order(serve: Any, make: Any) -> None:
    reader = Reader()
    serve(reader)
    screens = [*DARK]
    screens[3], screens[16] = screen(4, (200, 0, 0)), screen(17, (200, 30, 0))
    found = make().decide(Criterion("the screen is red"), screens, top_k=2)
    assert found.met is Met.YES and found.cited == ("E4", "E17")
    *scored, decided = reader.seen
    assert sorted(len(batch) for batch in scored) == [3, 8, 8]
    assert [exhibit.id for exhibit in decided] == ["E4", "E17"]


def test_equally_relevant_screens_are_taken_from_the_end(serve: Any, make: Any) -> None:
    reader = Reader()
    serve(reader)
    make().decide(Criterion("the screen is red"), DARK[:9], top_k=3)
    assert [exhibit.id for exhibit in reader.seen[-1]] == ["E7", "E8", "E9"]


@pytest.mark.parametrize(("top_k", "shown"), [(5, 2), (0, 0)])
def test_few_screens_need_no_scores(serve: Any, make: Any, top_k: int, shown: int) -> None:
    reader = Reader()
    serve(reader)
    make().decide(Criterion("the screen is red"), DARK[:2], top_k=top_k)
    assert [len(exhibits) for exhibits in reader.seen] == [shown]


def test_scores_that_leave_a_screen_out_are_no_answer(serve: Any, make: Any) -> None:
    partial = {"scores": [{"id": "E1", "relevance": 3}]}
    server = serve(answering(partial))
    with pytest.raises(VerifierError, match="score each of these exactly once: E1, E2, E3"):
        make().decide(SAYS, DARK[:3], top_k=1)
    told = server.requests[1]["messages"][-1]["content"]
    assert "score each of these exactly once: E1, E2, E3" in told


# --- answers that are none ------------------------------------------------------------------

UNUSABLE: list[tuple[Any, str]] = [
    ("I think the criterion is met: yes.", "not one JSON object"),
    ('```json\n{"reasons": "r", "cited": ["E1"], "answer": "yes"}\n```', "not one JSON object"),
    ("", "not one JSON object"),
    ('{"reasons": "r", "cited": ["E1"], "answer": "no", "answer": "yes"}', "a field twice"),
    ("[]", "does not fit the schema"),
    ({"cited": ["E1"], "answer": "yes"}, "reasons: missing"),
    ({**good(), "confidence": 1}, "extra_forbidden"),
    ({**good(), "cited": "E1"}, "cited: list_type"),
    ({**good(), "reasons": ""}, "reasons: string_too_short"),
    (good(answer="Yes"), "'answer' must be one of: yes, no, unclear"),
    (good(cited=("E1", "E9")), "1 of the cited ids are not exhibits; they are E1, E2"),
    (good(cited=()), "'cited' is empty"),
]


@pytest.mark.parametrize(("bad", "told"), UNUSABLE)
def test_an_unusable_answer_is_corrected_once(serve: Any, make: Any, bad: Any, told: str) -> None:
    server = serve(answering(bad, good()))
    assert make().decide(SAYS, [E1, E2]).met is Met.YES
    first, second = (request["messages"] for request in server.requests)
    assert second[:-1] == first
    assert second[-1]["role"] == "user" and told in second[-1]["content"]


@pytest.mark.parametrize(("bad", "told"), UNUSABLE)
def test_a_model_without_a_usable_answer_is_an_error(
    serve: Any, make: Any, bad: Any, told: str
) -> None:
    server = serve(answering(bad))
    with pytest.raises(VerifierError, match="two unusable answers"):
        make().decide(SAYS, [E1, E2])
    # Two about all exhibits, two about less of them, two about an empty one.
    assert len(server.requests) == 6


def test_a_no_needs_no_citation(serve: Any, make: Any) -> None:
    serve(answering(good(cited=(), answer="no")))
    assert make().decide(SAYS, [E1]).met is Met.NO


def test_a_tool_that_is_not_called_is_no_answer(serve: Any, make: Any) -> None:
    def script(request: Any) -> Any:
        if "tools" not in request:
            return Status(422, "response_format: unknown")
        return says(call("other", good()))

    serve(script)
    with pytest.raises(VerifierError, match="does not call the tool 'answer'"):
        make().decide(SAYS, [E1])


# --- outages --------------------------------------------------------------------------------


def refusing(_: Any) -> Any:
    return says(content=None, refusal="I cannot help with that.")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (refusing, "refused to answer: 'I cannot help with that.'"),
        ([Status(429)], "answered 429"),
        ([Status(500)], "answered 500"),
        ([Status(401)], "answered 401.*check OPENAI_API_KEY"),
        ([Status(400, "no such thing as a schema")], "no such thing as a schema"),
        ([Status(400, "maximum context length is 100 tokens")], "context_tokens=8000"),
        ([Raw(b"<html>busy</html>")], "not a chat completion"),
        ([Dropped()], "broke off"),
    ],
)
def test_an_outage_is_an_error_of_the_verifier(
    serve: Any, make: Any, script: Any, words: str
) -> None:
    serve(script)
    with pytest.raises(VerifierError, match=words):
        make().decide(SAYS, [E1])


@pytest.mark.parametrize("kind", ["headers", "drip", "body"])
def test_a_reply_that_never_ends_is_an_error(serve: Any, make: Any, kind: str) -> None:
    serve([Endless(kind)])
    with pytest.raises(VerifierError, match=r"no complete reply within 0\.2 s|reply is too long"):
        make("reader?timeout_s=0.2&retries=0").decide(SAYS, [E1])


def test_the_deadline_of_grading_ends_all_requests(serve: Any, make: Any) -> None:
    serve([Endless("headers")])
    with pytest.raises(VerifierError, match="no answer in the time for a criterion"):
        make().decide(SAYS, [E1], votes=3, timeout_s=0.2)


def test_nobody_listens(serve: Any, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    monkeypatch.setenv("AGENTGYM_JUDGE_BASE_URL", f"http://127.0.0.1:{port}/v1")
    with pytest.raises(VerifierError, match="correct AGENTGYM_JUDGE_BASE_URL"):
        make().decide(SAYS, [E1])


def test_a_passing_failure_is_tried_again(
    serve: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym.chat.endpoint.FIRST_WAIT_S", 0.0)
    serve([Status(503), *answering(good())])
    assert make("reader?retries=1").decide(SAYS, [E1]).met is Met.YES


# --- where it is asked ----------------------------------------------------------------------


def test_the_judge_has_an_endpoint_of_its_own(
    serve: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = serve(Reader())
    others = serve(Reader())
    monkeypatch.setenv("AGENTGYM_JUDGE_BASE_URL", own.url)
    make().decide(SAYS, [E1])
    # The key of the other endpoint is not this one's to know.
    assert [h["authorization"] for h in own.headers] == ["Bearer none"]
    monkeypatch.setenv("AGENTGYM_JUDGE_API_KEY", "own")
    make().decide(SAYS, [E2])
    assert own.headers[1]["authorization"] == "Bearer own"
    assert others.requests == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("gpt-x", "no judge named 'gpt-x'"),
        ("openai:", "judge 'openai' needs a model"),
        ("openai:x?votes=3", "has no option 'votes'"),
        ("openai:x?timeout_s=0", "timeout_s='0'"),
    ],
)
def test_a_judge_that_cannot_be_made(serve: Any, spec: str, words: str) -> None:
    serve(Reader())
    with pytest.raises(ConfigError, match=words):
        open_judge(spec)


def test_no_endpoint_is_said_when_a_judge_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "AGENTGYM_JUDGE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="judge 'openai' has no endpoint.*AGENTGYM_JUDGE_BASE"):
        open_judge("openai:x")


# --- the cache ------------------------------------------------------------------------------


def test_the_same_question_is_asked_once(serve: Any, make: Any) -> None:
    server = serve(Reader())
    red = Criterion("the screen is red")
    first = make().decide(red, DARK[:9], votes=2, top_k=3)
    asked = len(server.requests)
    second = make().decide(red, DARK[:9], votes=2, top_k=3)
    assert asked == 2 + 2 and len(server.requests) == asked
    assert [v.cached for v in first.votes] == [False] * 2
    assert [v.cached for v in second.votes] == [True] * 2
    assert (first.met, first.reasons, first.cited) == (second.met, second.reasons, second.cited)


def other_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgym.verify.judge.model.VERSION", "agentgym.judge/next")


Change = dict[str, Any]
SHOT = screen(2, (9, 9, 9))


@pytest.mark.parametrize(
    "change",
    [
        {"argument": "reader2?retries=0"},
        {"argument": "reader?retries=0&temperature=0"},
        {"criterion": Criterion('an exhibit says "teapot"')},
        {"criterion": SCALE},
        {"exhibits": [E1]},
        {"exhibits": [SHOT, E1]},
        {"exhibits": [Exhibit("E1", "step", "Step 0", E1.text + " "), SHOT]},
        {"exhibits": [Exhibit("E1", "step", "Step 1", E1.text), SHOT]},
        {"exhibits": [E1, screen(2, (9, 9, 8))]},
        {"votes": 2},
        {"prompt": other_prompt},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_could_change_an_answer_is_in_the_key(
    serve: Any, make: Any, monkeypatch: pytest.MonkeyPatch, change: Change
) -> None:
    server = serve(Reader())

    def ask(
        argument: str = "reader?retries=0",
        criterion: Criterion = SAYS,
        exhibits: tuple[Exhibit, ...] = (E1, SHOT),
        votes: int = 1,
        prompt: Callable[[pytest.MonkeyPatch], None] | None = None,
    ) -> None:
        if prompt is not None:
            prompt(monkeypatch)
        make(argument).decide(criterion, exhibits, votes=votes)

    # The reader cannot look for a word in a picture.
    server._script = answering({"reasons": "r", "cited": [], "answer": "no"})
    if change.get("criterion") is SCALE:
        ask()
        server._script = answering({"reasons": "r", "cited": [], "answer": "bad"})
        ask(**change)
        assert len(server.requests) == 2
        return
    ask()
    ask()
    assert len(server.requests) == 1
    ask(**change)
    assert len(server.requests) == 2


def test_another_endpoint_is_asked_anew(serve: Any, make: Any) -> None:
    first = serve(Reader())
    make().decide(SAYS, [E1])
    second = serve(Reader())
    make().decide(SAYS, [E1])
    assert (len(first.requests), len(second.requests)) == (1, 1)


DAMAGE: list[Callable[[bytes], bytes]] = [
    lambda data: data[: len(data) // 2],
    lambda data: b"",
    lambda data: b"[]",
    lambda data: data.replace(b"judgement/1", b"judgement/9"),
    lambda data: data.replace(b'"key": "', b'"key": "0'),
    lambda data: data.replace(b'["E1"]', b'["E7"]'),
    lambda data: data.replace(b'"yes"', b'"perhaps"'),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_a_miss_and_is_replaced(
    serve: Any, make: Any, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    server = serve(Reader())
    make().decide(SAYS, [E1])
    (entry,) = (tmp_path / "answers").rglob("*.json")
    sound = entry.read_bytes()
    assert damage(sound) != sound
    entry.write_bytes(damage(sound))
    assert make().decide(SAYS, [E1]).met is Met.YES
    assert len(server.requests) == 2 and entry.read_bytes() == sound
    assert not list((tmp_path / "answers").rglob(".part-*"))


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(serve: Any, tmp_path: Path) -> None:
    server = serve(Reader())
    (tmp_path / "file").write_text("in the way")
    judge = ModelJudge("reader?retries=0", AnswerCache(tmp_path / "file" / "below"))
    assert [judge.decide(SAYS, [E1]).met for _ in range(2)] == [Met.YES] * 2
    assert len(server.requests) == 2


def test_a_failure_is_not_kept(serve: Any, make: Any, tmp_path: Path) -> None:
    serve(answering("no JSON"))
    with pytest.raises(VerifierError):
        make().decide(SAYS, [E1])
    assert not list((tmp_path / "answers").rglob("*.json"))


# --- votes ----------------------------------------------------------------------------------


def test_votes_are_asked_one_by_one_and_counted(serve: Any, make: Any) -> None:
    server = serve(answering(good(), good(answer="no"), good()))
    found = make().decide(SAYS, [E1], votes=3)
    assert len(server.requests) == 3
    assert found.met is Met.YES
    assert sorted(vote.answer for vote in found.votes) == ["no", "yes", "yes"]


def test_one_vote_that_cannot_be_had_is_an_error(serve: Any, make: Any) -> None:
    serve([*answering(good(), good()), Status(500)])
    with pytest.raises(VerifierError, match="500"):
        make().decide(SAYS, [E1], votes=3)


@pytest.mark.parametrize(
    ("criterion", "keywords", "words"),
    [
        (Criterion("  "), {}, "criterion: expected text"),
        (SAYS, {"votes": 0}, "votes: expected 1 to 25"),
        (SAYS, {"votes": True}, "votes"),
        (SAYS, {"top_k": -1}, "top_k: expected 0 to 100"),
        (Criterion("x", (Level("a", 0.0),)), {}, "at least two"),
        (Criterion("x", (Level("a", 0.0), Level("a", 1.0))), {}, "names that differ"),
        (Criterion("x", (Level("a", 1.0), Level("b", 0.0))), {}, "rise within 0..1"),
        (Criterion("x", (Level("a", 0.0), Level("b", 2.0))), {}, "rise within 0..1"),
    ],
)
def test_what_cannot_be_asked(
    serve: Any, make: Any, criterion: Criterion, keywords: dict[str, Any], words: str
) -> None:
    server = serve(Reader())
    with pytest.raises(VerifierError, match=words):
        make().decide(criterion, [E1], **keywords)
    assert server.requests == []
