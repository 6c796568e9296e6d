"""The mirror over the asynchronous transport: as before, and several requests at once."""

import asyncio
import importlib.util
import inspect
import json

import pytest

from tern import Broken, Busy, Fatal, Missing, Settings, mirror
from tern.__main__ import main
from tern.feed import host_of


class World:
    """Each URL has a body, an error, or a list of those: one a request.

    A body may be a tuple: how many turns of the loop the server takes, and the body; an error after a part of the
    body is a body with an exception as third.
    """

    def __init__(self, content):
        self.content, self.asked, self.slept = content, [], []
        self.under_way, self.opened, self.closed = [], 0, 0
        self.most, self.most_of_a_host, self.cancelled = 0, 0, 0
        self.asked_at_fatal = None

    async def open(self, url):
        self.asked.append(url)
        self.under_way.append(url)
        self.most = max(self.most, len(self.under_way))
        hosts = [host_of(each) for each in self.under_way]
        self.most_of_a_host = max(self.most_of_a_host, max(map(hosts.count, hosts)))
        answer = self.content.get(url, Missing(f"{url}: not there"))
        if isinstance(answer, list):
            answer = answer.pop(0)
        turns, answer, *error = answer if isinstance(answer, tuple) else (2, answer)
        try:
            for _ in range(turns):
                await asyncio.sleep(0)
            if isinstance(answer, Exception):
                self.note(answer)
                raise answer
        except BaseException as raised:
            self.cancelled += isinstance(raised, asyncio.CancelledError)
            self.under_way.remove(url)
            raise
        self.opened += 1
        return Response(self, url, answer, error)

    def note(self, error):
        """A request that begins while the response is being closed is no further one."""
        if isinstance(error, Fatal):
            asyncio.get_running_loop().call_soon(self.note_asked, 8)

    def note_asked(self, turns):
        if turns:
            asyncio.get_running_loop().call_soon(self.note_asked, turns - 1)
        else:
            self.asked_at_fatal = len(self.asked)

    async def sleep(self, seconds):
        self.slept.append(seconds)
        for _ in range(int(seconds * 20)):
            await asyncio.sleep(0)


class Response:
    def __init__(self, world, url, body, error):
        self.world, self.url, self.body, self.error = world, url, body, error
        self.is_open = True

    async def read(self, size):
        assert self.is_open and size > 0
        await asyncio.sleep(0)
        if not self.body and self.error:
            self.world.note(self.error[0])
            raise self.error[0]
        data, self.body = self.body[: min(size, 3)], self.body[min(size, 3) :]
        return data

    async def close(self):
        assert self.is_open, "closed twice"
        self.is_open = False
        self.world.closed += 1
        try:
            for _ in range(5):
                await asyncio.sleep(0)
        finally:
            self.world.under_way.remove(self.url)


def run(world, folder, feeds, settings=Settings(), do=None):
    """Run the mirror with a deadline; look at what is left of it."""

    async def whole():
        try:
            if do is not None:
                return await do()
            return await asyncio.wait_for(mirror(world, folder, feeds, settings), 6)
        finally:
            assert asyncio.all_tasks() == {asyncio.current_task()}, "a task is left behind"
            assert world.under_way == [] and world.opened == world.closed
            if folder.exists():
                assert not list(folder.rglob("*.part"))

    return asyncio.run(whole())


def state_of(folder):
    return json.loads((folder / "state.json").read_text())


FEEDS = {
    "http://a/feed": b"# new ones\nhttp://a/1 one\nhttp://b/2 two\n",
    "http://b/feed": b"http://b/2 two\nhttp://a/3 three\n",
    "http://a/1": b"1" * 10,
    "http://b/2": b"2" * 10,
    "http://a/3": b"3" * 10,
}


@pytest.mark.parametrize("together", [1, 2, 9])
def test_feeds_are_fetched(tmp_path, together):
    world = World(dict(FEEDS))
    report = run(world, tmp_path, ["http://a/feed", "http://b/feed"], Settings(together))
    assert report.fetched == ["http://a/1", "http://b/2", "http://a/3"]
    assert report.known == ["http://b/2"] and report.tries == 5 and report.failed == []
    assert [(tmp_path / name).read_bytes() for name in ("a/one", "b/two", "a/three")] == [b"1" * 10, b"2" * 10, b"3" * 10]
    assert state_of(tmp_path) == {"http://a/1": "a/one", "http://b/2": "b/two", "http://a/3": "a/three"}
    again = World(dict(FEEDS))
    report = run(again, tmp_path, ["http://a/feed"], Settings(together))
    assert report.known == ["http://a/1", "http://b/2"] and again.asked == ["http://a/feed"]


def test_one_at_a_time_has_the_order_of_before(tmp_path):
    world = World(FEEDS | {"http://a/feed": (30, FEEDS["http://a/feed"])})
    run(world, tmp_path, ["http://a/feed", "http://c/feed", "http://b/feed"], Settings(together=1))
    assert world.asked == ["http://a/feed", "http://a/1", "http://b/2", "http://c/feed", "http://b/feed", "http://a/3"]
    assert world.most == 1


def many(feeds=4, items=6, hosts="abcde"):
    content, urls = {}, []
    for feed in range(feeds):
        names = [f"http://{hosts[(feed + at) % len(hosts)]}/{feed}-{at}" for at in range(items)]
        lines = [f"{name} f{feed}-{at}\n" for at, name in enumerate(names)]
        content[f"http://{hosts[feed % len(hosts)]}/feed{feed}"] = (50 - 12 * feed, "".join(lines).encode())
        content |= {name: ((7 * at + 13 * feed) % 31, name.encode()) for at, name in enumerate(names)}
        urls += names
    return content, urls, [f"http://{hosts[feed % len(hosts)]}/feed{feed}" for feed in range(feeds)]


@pytest.mark.parametrize("together", [2, 3, 5])
def test_several_requests_are_under_way_but_one_for_each_host(tmp_path, together):
    content, urls, feeds = many()
    world = World(content)
    report = run(world, tmp_path, feeds, Settings(together))
    assert report.fetched == urls and report.tries == len(urls) + len(feeds)
    assert (world.most, world.most_of_a_host) == (together, 1)
    for url in urls:
        assert (tmp_path / state_of(tmp_path)[url]).read_bytes() == url.encode()


def test_hosts_are_the_same_whatever_their_capitals(tmp_path):
    world = World({"http://a/f": b"http://B/1 one\nhttp://b/2 two\n", "http://B/1": b"1", "http://b/2": b"2"})
    run(world, tmp_path, ["http://a/f"])
    assert world.most_of_a_host == 1 and len(world.asked) == 3


def test_the_first_feed_fetches_what_several_have(tmp_path):
    """Whoever is answered first."""
    content = {
        "http://a/feed": (200, b"http://c/1 first\nhttp://c/2 two\n"),
        "http://b/feed": (1, b"http://d/3 three\nhttp://c/1 second\n"),
        "http://e/feed": (20, b"http://c/1 third\nhttp://d/3 other\n"),
        "http://c/1": b"1",
        "http://c/2": b"2",
        "http://d/3": b"3",
    }
    report = run(World(content), tmp_path, ["http://a/feed", "http://b/feed", "http://e/feed"])
    assert report.fetched == ["http://c/1", "http://c/2", "http://d/3"]
    assert report.known == ["http://c/1", "http://c/1", "http://d/3"]
    assert state_of(tmp_path) == {"http://c/1": "c/first", "http://c/2": "c/two", "http://d/3": "d/three"}
    assert not (tmp_path / "c/second").exists()


def test_what_failed_in_a_feed_before_is_not_tried_by_the_next(tmp_path):
    world = World(FEEDS | {"http://b/2": Missing("gone"), "http://x/feed": (40, Missing("no feed")), "http://y/feed": b"broken\n"})
    report = run(world, tmp_path, ["http://x/feed", "http://a/feed", "http://y/feed", "http://b/feed"])
    assert report.failed[:2] == [("http://x/feed", "no feed"), ("http://b/2", "gone")]
    assert report.failed[2][0] == "http://y/feed" and "line 1" in report.failed[2][1]
    assert report.known == ["http://b/2"] and report.fetched == ["http://a/1", "http://a/3"]
    assert world.asked.count("http://b/2") == 1


def test_tries_and_pauses(tmp_path):
    world = World(FEEDS | {"http://a/1": [Busy("busy", 7), Broken("broken"), b"1"], "http://b/2": [Broken("x"), Busy("y"), Busy("z", 3)]})
    report = run(world, tmp_path, ["http://a/feed"], Settings(together=1, pauses=(1, 2)))
    assert report.fetched == ["http://a/1"] and report.failed == [("http://b/2", "z")]
    assert sorted(world.slept) == [1, 2, 2, 7] and report.tries == 7
    assert (tmp_path / "a/one").read_bytes() == b"1"


def test_without_pauses_there_is_one_try(tmp_path):
    world = World(FEEDS | {"http://a/feed": Busy("busy", 7)})
    report = run(world, tmp_path, ["http://a/feed"], Settings(pauses=()))
    assert report.failed == [("http://a/feed", "busy")] and world.slept == [] and report.tries == 1


def test_others_go_on_during_a_pause(tmp_path):
    world = World({"http://a/f": b"http://a/1 one\nhttp://a/2 two\nhttp://a/3 three\n", "http://a/1": [Busy("busy", 5), b"1"], "http://a/2": b"2", "http://a/3": b"3"})
    report = run(world, tmp_path, ["http://a/f"], Settings(together=1))
    assert world.asked == ["http://a/f", "http://a/1", "http://a/2", "http://a/3", "http://a/1"]
    assert report.fetched == ["http://a/1", "http://a/2", "http://a/3"] and world.most == 1


def test_the_last_item_of_a_name_counts_even_if_one_before_has_to_pause(tmp_path):
    world = World({"http://a/f": b"http://a/1 same\nhttp://a/2 same\n", "http://a/1": [Busy("busy", 1), b"1"], "http://a/2": b"2"})
    report = run(world, tmp_path, ["http://a/f"])
    assert report.fetched == ["http://a/1", "http://a/2"]
    assert (tmp_path / "a/same").read_bytes() == b"2"


def test_a_body_that_breaks_off_begins_again(tmp_path):
    body = bytes(range(200))
    world = World({"http://a/f": [(1, b"http://a/1 on", Broken("f")), b"http://a/1 one\n"], "http://a/1": [(1, body[:50], Broken("cut")), (1, body[:9], Broken("cut")), body]})
    report = run(world, tmp_path, ["http://a/f"], Settings(chunk=7))
    assert report.fetched == ["http://a/1"] and report.tries == 5
    assert (tmp_path / "a/one").read_bytes() == body


def test_an_empty_body_is_a_file(tmp_path):
    run(World({"http://a/f": b"http://a/1 one\n", "http://a/1": b""}), tmp_path, ["http://a/f"])
    assert (tmp_path / "a/one").read_bytes() == b""


@pytest.mark.parametrize("fatal", [(25, Fatal("full")), (1, b"123", Fatal("full"))], ids=["open", "read"])
@pytest.mark.parametrize("together", [1, 3, 5])
def test_a_fatal_error_ends_everything(tmp_path, fatal, together):
    content, urls, feeds = many()
    content[urls[7]] = fatal
    world = World(content)
    with pytest.raises(Fatal):
        run(world, tmp_path, feeds, Settings(together))
    assert world.asked_at_fatal in (None, len(world.asked)), "a request was made afterwards"
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} - {"state.json"}
    assert files == set(state_of(tmp_path).values())
    for url, name in state_of(tmp_path).items():
        assert (tmp_path / name).read_bytes() == url.encode()


def test_a_fatal_error_ends_pauses(tmp_path):
    world = World({"http://a/f": b"http://a/1 one\nhttp://b/2 two\n", "http://a/1": Busy("busy", 10**9), "http://b/2": (90, Fatal("full"))})
    with pytest.raises(Fatal, match="full"):
        run(world, tmp_path, ["http://a/f"])


@pytest.mark.parametrize("turns", [1, 8, 40, 70, 110])
def test_it_can_be_cancelled(tmp_path, turns):
    content, urls, feeds = many()
    world = World(content | {urls[2]: Busy("busy", 10**9)})

    async def cancel():
        task = asyncio.create_task(mirror(world, tmp_path, feeds, Settings(3)))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.gather(task), 6)

    run(world, tmp_path, feeds, do=cancel)
    known = state_of(tmp_path) if (tmp_path / "state.json").exists() else {}
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()} - {"state.json"}
    assert files == set(known.values())


def test_the_state_is_saved_after_each_feed(tmp_path):
    world = World(FEEDS | {"http://c/feed": b"http://c/9 nine\n", "http://c/9": (10**9, b"9")})

    async def look():
        task = asyncio.create_task(mirror(world, tmp_path, ["http://a/feed", "http://c/feed"]))
        for _ in range(3000):
            await asyncio.sleep(0)
        saved = state_of(tmp_path)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return saved

    assert set(run(world, tmp_path, [], do=look)) == {"http://a/1", "http://b/2"}


def test_another_error_is_no_report(tmp_path):
    (tmp_path / "a").write_text("a file where a folder should be")
    with pytest.raises(OSError):
        run(World(dict(FEEDS)), tmp_path, ["http://a/feed", "http://b/feed"])


def test_no_feeds(tmp_path):
    assert run(World({}), tmp_path, []).tries == 0


def test_the_blocking_transport_is_gone():
    assert importlib.util.find_spec("tern.transport") is None
    assert inspect.iscoroutinefunction(mirror)


def test_the_command(tmp_path, capsys):
    source = tmp_path / "source"
    source.mkdir()
    (source / "1").write_bytes(b"1" * 200_000)
    where = f"file://localhost{source.as_posix()}"
    (source / "feed").write_text(f"{where}/1 one\n")
    assert main([str(tmp_path / "to"), f"{where}/feed"]) == 0
    assert capsys.readouterr().out == "1 fetched, 0 known, 2 requests\n"
    assert (tmp_path / "to/localhost/one").read_bytes() == b"1" * 200_000
    assert main([str(tmp_path / "to")]) == 2


def test_others_are_asked_before_a_pause_ends(tmp_path):
    world = World({"http://a/f": b"http://a/1 one\nhttp://a/2 two\nhttp://a/3 three\n", "http://a/1": [Busy("busy", 5), b"1"], "http://a/2": b"2", "http://a/3": b"3"})
    sleep, asked = world.sleep, []

    async def noted(seconds):
        await sleep(seconds)
        asked.extend(world.asked)

    world.sleep = noted
    run(world, tmp_path, ["http://a/f"], Settings(together=1))
    assert asked == ["http://a/f", "http://a/1", "http://a/2", "http://a/3"]


def test_the_state_file_is_as_before(tmp_path):
    run(World(dict(FEEDS)), tmp_path, ["http://a/feed"])
    assert (tmp_path / "state.json").read_text() == '{\n "http://a/1": "a/one",\n "http://b/2": "b/two"\n}'
    run(World({"http://a/f": b"http://A/0 zero\n", "http://A/0": b"0"}), tmp_path, ["http://a/f"])
    assert list(state_of(tmp_path)) == ["http://A/0", "http://a/1", "http://b/2"]


def test_a_busy_server_may_have_time_at_once(tmp_path):
    world = World(FEEDS | {"http://a/1": [Busy("busy", 0), b"1"]})
    report = run(world, tmp_path, ["http://a/feed"], Settings(together=1, pauses=(1, 2)))
    assert world.slept in ([0], []) and report.fetched == ["http://a/1", "http://b/2"]


@pytest.mark.parametrize("together", [1, 4])
def test_what_failed_long_ago_is_not_tried_by_a_later_feed(tmp_path, together):
    world = World(FEEDS | {"http://b/2": Missing("gone"), "http://b/feed": (300, FEEDS["http://b/feed"])})
    report = run(world, tmp_path, ["http://a/feed", "http://b/feed"], Settings(together))
    assert world.asked.count("http://b/2") == 1
    assert report.known == ["http://b/2"] and report.failed == [("http://b/2", "gone")]


def test_without_feeds_the_state_is_that_of_nothing(tmp_path):
    run(World({}), tmp_path, [])
    assert state_of(tmp_path) == {}


@pytest.mark.parametrize("together", [2, 4, 9])
def test_feeds_of_a_host_are_asked_for_one_after_the_other(tmp_path, together):
    feeds = [f"http://a/feed{number}" for number in range(4)] + ["http://A/last"]
    world = World({feed: (4, f"http://a/{at} file{at}\nhttp://b/{at} file{at}\n".encode()) for at, feed in enumerate(feeds)})
    world.content |= {f"http://{host}/{at}": b"x" for host in "ab" for at in range(5)}
    report = run(world, tmp_path, feeds, Settings(together))
    assert world.most_of_a_host == 1 and world.most == 2
    assert report.fetched == [f"http://{host}/{at}" for at in range(5) for host in "ab"]


@pytest.mark.parametrize("chunk", [1, 2, 100_000])
def test_as_much_is_asked_for_at_once_as_the_settings_say(tmp_path, chunk):
    world, sizes = World(dict(FEEDS)), []
    begin = world.open

    async def opened(url):
        response = await begin(url)
        read = response.read

        async def noted(size):
            sizes.append(size)
            return await read(size)

        response.read = noted
        return response

    world.open = opened
    assert run(world, tmp_path, ["http://a/feed"], Settings(chunk=chunk)).fetched == ["http://a/1", "http://b/2"]
    assert set(sizes) == {chunk} and (tmp_path / "a/one").read_bytes() == b"1" * 10


@pytest.mark.parametrize("turns", range(0, 120, 8))
def test_the_state_knows_what_is_complete_when_it_is_cancelled(tmp_path, turns):
    world = World(FEEDS | {"http://a/3": (40, b"3" * 10), "http://b/feed": (30, FEEDS["http://b/feed"])})

    async def cancel():
        task = asyncio.ensure_future(mirror(world, tmp_path, ["http://a/feed", "http://b/feed"], Settings(2)))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

    run(world, tmp_path, (), do=cancel)
    there = {f"{path.parent.name}/{path.name}" for path in tmp_path.glob("*/*")}
    known = set(state_of(tmp_path).values()) if (tmp_path / "state.json").exists() else set()
    assert known == there


def test_the_command_tells_what_failed(tmp_path, capsys, monkeypatch):
    source = tmp_path / "source"
    source.mkdir()
    where = f"file://localhost{source.as_posix()}"
    (source / "feed").write_text(f"{where}/none one\n")
    monkeypatch.setattr("tern.aio.Transport.sleep", lambda self, seconds: asyncio.sleep(0))
    assert main([str(tmp_path / "to"), f"{where}/feed"]) == 1
    seen = capsys.readouterr()
    assert seen.out.startswith("0 fetched, 0 known, ") and seen.err.startswith(f"{where}/none: ")

    async def fatal(self, url):
        raise Fatal("the disk is full")

    monkeypatch.setattr("tern.aio.Transport.open", fatal)
    assert main([str(tmp_path / "to"), f"{where}/feed"]) == 3
    assert capsys.readouterr().err == "tern: the disk is full\n"
