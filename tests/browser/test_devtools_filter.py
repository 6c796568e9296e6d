"""The filter between a browser and its driver; no browser is started."""

import json

import pytest

from agentgym.browser.devtools_filter import ReportFilter


def said(method, text="", page="A", **more):
    message = {"method": method, "params": {"text": text}, "sessionId": page, **more}
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
    passing = ReportFilter()
    parts = [stream[begin : begin + size] for begin in range(0, len(stream), size)]
    assert b"".join(out for part in parts for out in passing.feed(part)) == b"".join(kept)


def test_many_reports_of_one_page_do_not_silence_another():
    passing = ReportFilter()
    out = b"".join(passing.feed(report("a") * 5_000 + report("b", "B") + report("c") * 5_000))
    assert 100 <= out.count(b'"sessionId":"A"') <= 1_000
    assert out.count(b'"sessionId":"B"') == 1
