"""Feeds, state files and the command say what they said."""

import asyncio
import json
import subprocess
import sys

import pytest

from tern import Busy, Fatal, Missing, RequestError, Settings, mirror
from tern.__main__ import main
from tern.feed import FeedError, Item, read_feed
from tern.files import complete_file
from tern.state import State


class World:
    """Each URL has a body or an error."""

    def __init__(self, content):
        self.content = content

    async def open(self, url):
        answer = self.content[url]
        if isinstance(answer, Exception):
            raise answer
        return Response(answer)

    async def sleep(self, seconds):
        pass


class Response:
    def __init__(self, body):
        self.left = body

    async def read(self, size):
        data, self.left = self.left[:size], self.left[size:]
        return data

    async def close(self):
        pass


def run(folder, content, feeds=("http://h/feed",), settings=Settings()):
    return asyncio.run(asyncio.wait_for(mirror(World(content), folder, feeds, settings), 10))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", []),
        ("# x\n\n  \nhttp://h/a a\n", [("http://h/a", "a")]),
        ("  http://h/a   \nhttp://h/a b", None),
        ("http://h/a a b \r\nHTTPS://H/b b", [("http://h/a", "a b"), ("HTTPS://H/b", "b")]),
        ("http://h/a a\nhttp://h/b b\nhttp://h/a c", [("http://h/a", "a"), ("http://h/b", "b")]),
        ("http://h/ä ä", [("http://h/ä", "ä")]),
        (" # x\n", None),
    ],
)
def test_what_a_feed_holds(text, items):
    if items is None:
        with pytest.raises(FeedError):
            read_feed(text.encode())
    else:
        assert read_feed(text.encode()) == [Item(*each) for each in items]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"http://h/a a\n\nhttp://h/b\n", "line 3: expected URL NAME, got 'http://h/b'"),
        (b"  /a a  ", "line 1: expected URL NAME, got '/a a'"),
        (b"http://h/a a/b", "line 1: expected URL NAME, got 'http://h/a a/b'"),
        (b"http://h/a .a", "line 1: expected URL NAME, got 'http://h/a .a'"),
        (b"http://h/a \xff", "not UTF-8"),
    ],
)
def test_a_feed_that_cannot_be_read_is_told_and_its_items_are_not_fetched(tmp_path, body, told):
    good = {"http://g/feed": b"http://g/a a\n", "http://g/a": b"1"}
    report = run(tmp_path, {"http://h/feed": body, "http://h/a": b"x", **good}, ["http://h/feed", "http://g/feed"])
    assert report.failed == [("http://h/feed", told)]
    assert (report.fetched, report.known, report.tries) == (["http://g/a"], [], 3)
    assert not (tmp_path / "h").exists()


def test_files_get_a_folder_for_each_host(tmp_path):
    feed = b"http://Host:80/a a\nhttp://host:80/b b c\nhttp://[::1]:80/a a\n"
    bodies = {"http://Host:80/a": b"1", "http://host:80/b": b"", "http://[::1]:80/a": b"3" * 200_000}
    report = run(tmp_path, {"http://h/feed": feed, **bodies})
    assert report.fetched == list(bodies) and report.failed == []
    found = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    state = found.pop("state.json")
    assert found == {"host_80/a": b"1", "host_80/b c": b"", "[__1]_80/a": b"3" * 200_000}
    files = {"http://Host:80/a": "host_80/a", "http://[::1]:80/a": "[__1]_80/a", "http://host:80/b": "host_80/b c"}
    assert state == json.dumps(files, indent=1, sort_keys=True).encode()


def test_what_is_known_is_not_fetched_and_what_failed_is_tried_by_the_next_run(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"http://h/ä": "h/ä", "http://old/": "old/x"}), encoding="utf-8")
    feed = "http://h/ä ä\nhttp://h/b b\n".encode()
    report = run(tmp_path, {"http://h/feed": feed, "http://h/b": Missing("gone")})
    assert (report.known, report.failed, report.fetched) == (["http://h/ä"], [("http://h/b", "gone")], [])
    assert not (tmp_path / "h").exists() or not list((tmp_path / "h").iterdir())
    report = run(tmp_path, {"http://h/feed": feed, "http://h/b": b"b"})
    assert (report.known, report.fetched) == (["http://h/ä"], ["http://h/b"])
    assert set(json.loads((tmp_path / "state.json").read_text())) == {"http://h/ä", "http://h/b", "http://old/"}


def test_a_file_that_is_there_is_replaced(tmp_path):
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "a").write_bytes(b"old and longer")
    run(tmp_path, {"http://h/feed": b"http://h/a a\n", "http://h/a": b"new"})
    assert (tmp_path / "h" / "a").read_bytes() == b"new"


def test_a_file_is_complete_or_as_before(tmp_path):
    path = tmp_path / "x" / "a"
    with complete_file(path) as file:
        file.write(b"one")
        assert not path.exists()
    with pytest.raises(KeyboardInterrupt), complete_file(path) as file:
        file.write(b"two")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"one" and [each.name for each in path.parent.iterdir()] == ["a"]
    state = State(tmp_path)
    state.add("u", "f")
    assert "u" in state and "v" not in state and "u" not in State(tmp_path)
    state.save()
    assert "u" in State(tmp_path)


def test_reports_and_errors():
    error = Busy("late", 2.5)
    assert (str(error), error.after_s, Busy("x").after_s) == ("late", 2.5, None)
    assert isinstance(error, RequestError) and not isinstance(Fatal("x"), RequestError)


@pytest.mark.parametrize("words", [[], ["folder"]])
def test_too_few_words(words, tmp_path):
    done = subprocess.run([sys.executable, "-m", "tern", *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "") and "python3 -m tern FOLDER FEED..." in done.stderr


def test_the_command_tells_of_the_end(tmp_path, capsys, monkeypatch):
    content = {"http://h/feed": b"http://h/a a\nhttp://h/b b\n", "http://h/a": b"1", "http://h/b": Missing("gone")}

    async def opened(self, url):
        return await World(content).open(url)

    monkeypatch.setattr("tern.aio.Transport.open", opened)
    assert main([str(tmp_path), "http://h/feed"]) == 1
    assert capsys.readouterr() == ("1 fetched, 0 known, 3 requests\n", "http://h/b: gone\n")
    content["http://h/b"] = b"2"
    assert main([str(tmp_path), "http://h/feed"]) == 0
    assert capsys.readouterr() == ("1 fetched, 1 known, 2 requests\n", "")
    content["http://h/feed"] = Fatal("the disk is full")
    assert main([str(tmp_path), "http://h/feed"]) == 3
    assert capsys.readouterr() == ("", "tern: the disk is full\n")
