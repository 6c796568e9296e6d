import json

import pytest
from old_world import World

from tern import Broken, Busy, Fatal, Settings, mirror

FEEDS = {
    "http://a/feed": b"# new ones\nhttp://a/1 one\nhttp://b/2 two\n",
    "http://b/feed": b"http://b/2 two\nhttp://a/3 three\n",
    "http://a/1": b"1" * 10,
    "http://b/2": b"2" * 10,
    "http://a/3": b"3" * 10,
}


def test_feeds_are_fetched_in_order(tmp_path):
    world = World(dict(FEEDS))
    report = mirror(world, tmp_path, ["http://a/feed", "http://b/feed"])
    assert report.fetched == ["http://a/1", "http://b/2", "http://a/3"]
    assert report.known == ["http://b/2"] and report.tries == 5
    assert world.asked == ["http://a/feed", "http://a/1", "http://b/2", "http://b/feed", "http://a/3"]
    assert (tmp_path / "b/two").read_bytes() == b"2" * 10
    assert mirror(World(dict(FEEDS)), tmp_path, ["http://a/feed"]).known == ["http://a/1", "http://b/2"]


def test_tries(tmp_path):
    world = World(FEEDS | {"http://a/1": [Busy("busy", 7), Broken("broken"), b"1"], "http://b/2": Broken("broken")})
    report = mirror(world, tmp_path, ["http://a/feed"], Settings(pauses=(1, 2)))
    assert report.fetched == ["http://a/1"] and report.failed == [("http://b/2", "broken")]
    assert world.slept == [7, 2, 1, 2] and report.tries == 7


def test_a_fatal_error(tmp_path):
    world = World(FEEDS | {"http://b/2": Fatal("full")})
    with pytest.raises(Fatal):
        mirror(world, tmp_path, ["http://a/feed", "http://b/feed"])
    assert json.loads((tmp_path / "state.json").read_text()) == {"http://a/1": "a/one"}
