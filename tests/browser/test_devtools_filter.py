"""The filter between a browser and its driver; no browser is started."""

import json

import pytest

from agentgym.browser import devtools_filter
from agentgym.browser.devtools_filter import MessageFilter


def said(method, text="", page="A", **more):
    message = {"method": method, "params": {"text": text}, "sessionId": page, **more}
    return json.dumps(message, separators=(",", ":")).encode() + b"\0"


def answer(number, text="", page="A"):
    message = {"id": number, "result": {"data": text}, "sessionId": page}
    return json.dumps(message, separators=(",", ":")).encode() + b"\0"


def report(text="", page="A"):
    return said("Runtime.consoleAPICalled", text, page)


@pytest.mark.parametrize("size", [1, 7, 100, 10**6])
def test_large_reports_are_dropped_and_all_else_arrives_unchanged(size):
    large = "x" * 200_000
    kept = [
        report("small"),
        said("Page.javascriptDialogOpening", large),
        b'{"id":1,"result":{"data":"' + large.encode() + b'"}}\0',
        said("Runtime.exceptionThrown", "y" * 60_000),
        b'{"id":2,"result":{}}\0',
    ]
    dropped = [report(large), said("Runtime.exceptionThrown", large), said("Log.entryAdded", large)]
    stream = b"".join(
        part for pair in zip(kept, [*dropped, *dropped[:2]], strict=True) for part in pair
    )
    if size == 1:
        stream = stream.replace(b"x" * 200_000, b"x" * 70_000)
        kept = [part.replace(b"x" * 200_000, b"x" * 70_000) for part in kept]
    passing = MessageFilter()
    parts = [stream[begin : begin + size] for begin in range(0, len(stream), size)]
    assert b"".join(out for part in parts for out in passing.feed(part)) == b"".join(kept)


def test_many_reports_of_one_page_do_not_silence_another():
    passing = MessageFilter()
    out = b"".join(passing.feed(report("a") * 5_000 + report("b", "B") + report("c") * 5_000))
    assert 100 <= out.count(b'"sessionId":"A"') <= 1_000
    assert out.count(b'"sessionId":"B"') == 1


def test_an_answer_without_measure_becomes_an_error_of_the_same_request(monkeypatch):
    monkeypatch.setattr(devtools_filter, "_MOST_ANSWER", 50_000)
    monkeypatch.setattr(devtools_filter, "_MOST_EVENT", 50_000)
    large = "x" * 60_000
    stream = [
        answer(1, "a"),
        answer(2, large, "B"),
        said("Page.javascriptDialogOpening", large),
        said("Network.webSocketFrameReceived", "small"),
        said("Network.requestWillBeSent", "/" * 300_000),
        said("Network.requestWillBeSent", "/"),
        answer(3, "b"),
    ]
    passing, out = MessageFilter(), b""
    whole = b"".join(stream)
    for begin in range(0, len(whole), 4_096):
        out += b"".join(passing.feed(whole[begin : begin + 4_096]))
    told = [json.loads(part) for part in out.split(b"\0") if part]
    refused = {"code": -32000, "message": "the answer is too long"}
    assert told[1] == {"id": 2, "error": refused, "sessionId": "B"}
    assert [one.get("id", one.get("method")) for one in told] == [
        1,
        2,
        "Network.requestWillBeSent",
        3,
    ]


def test_many_requests_of_one_page_do_not_hide_those_of_another():
    passing = MessageFilter()
    flood = said("Network.requestWillBeSent", "a") * 12_000
    out = b"".join(passing.feed(flood + said("Network.requestWillBeSent", "b", "B")))
    assert 4_000 <= out.count(b'"sessionId":"A"') <= 11_000
    assert out.count(b'"sessionId":"B"') == 1
