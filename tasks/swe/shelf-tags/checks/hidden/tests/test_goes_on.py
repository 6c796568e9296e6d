"""Tags and the order of use are what they were given, and loading changes only entries."""

import json

import pytest

from shelf import Shelf


@pytest.fixture
def now():
    return [100.0]


@pytest.fixture
def shelf(now):
    return Shelf(limit=3, clock=lambda: now[0])


def test_capitals_of_tags_make_a_difference(shelf):
    tags = ["Team:3", "team:3"]
    for at, tag in enumerate(tags):
        shelf.put(at, at, tags=[tag])
    assert shelf.tags() == tags and shelf.drop_tag("team:3") == 1 and list(shelf) == [0]


@pytest.mark.parametrize("tags", [[], ["a"], ["b"]])
def test_what_expired_is_counted_whatever_replaces_it(shelf, now, tags):
    shelf.put("k", 1, lifetime=5, tags=["a"])
    now[0] += 5
    shelf.put("k", 2, tags=tags)
    assert (shelf.stats.expired, shelf.stats.left, shelf.tags()) == (1, 1, tags)
    shelf.put("k", 3)
    assert (shelf.stats.left, shelf.tags(), shelf.get("k")) == (1, [], 3)


@pytest.mark.parametrize("wait", [0, 5])
def test_what_is_put_is_used_last(shelf, now, wait):
    shelf.put("a", 1, lifetime=5)
    shelf.put("b", 1)
    shelf.put("c", 1)
    now[0] += wait
    shelf.put("a", 2)
    assert list(shelf) == ["b", "c", "a"]
    shelf.put("d", 1)
    assert list(shelf) == ["c", "a", "d"]


def test_old_and_new_lines_of_a_file_keep_their_order(shelf, tmp_path):
    lines = [{"key": key, "value": key, "left": None} | ({"tags": ["t"]} if key in "bd" else {}) for key in "abc"]
    (tmp_path / "f").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shelf.put("x", 1)
    shelf.get("x"), shelf.get("y")
    shelf.load(tmp_path / "f")
    assert (list(shelf), shelf.tags()) == (["a", "b", "c"], ["t"])
    assert (shelf.stats.hits, shelf.stats.misses) == (1, 1)
    shelf.put("d", 1)
    assert list(shelf) == ["b", "c", "d"] and shelf.stats.evicted == 1


def test_tags_that_are_given_are_not_changed(shelf):
    tags = ["b", "a", "b"]
    shelf.put("k", 1, tags=tags)
    shelf.put("l", 1, tags=(tag for tag in tags))
    assert tags == ["b", "a", "b"] and shelf.tags() == ["a", "b"] and shelf.drop_tag("b") == 2


def test_tags_are_those_of_the_time_of_put(shelf):
    tags = ["a", "b"]
    shelf.put("k", 1, tags=tags)
    tags.append("c")
    assert shelf.tags() == ["a", "b"] and shelf.drop_tag("c") == 0
    shelf.put("k", 1, tags=iter(["d"]))
    assert shelf.tags() == ["d"] and shelf.drop_tag("d") == 1


def test_what_expired_is_no_key_though_nothing_looked_at_it(shelf, now):
    shelf.put("a", 1, lifetime=5)
    shelf.put("b", 1)
    now[0] += 5
    assert list(shelf) == ["b"]


def test_keys_may_be_dropped_while_one_goes_over_them(shelf):
    for key in "abc":
        shelf.put(key, key)
    assert [shelf.drop(key) for key in shelf] == [True] * 3
    assert len(shelf) == 0 and shelf.drop("a") is False


def test_what_lives_for_ever_does_so_after_a_restart(shelf, now, tmp_path):
    shelf.put("a", 1, tags=["t"])
    shelf.save(tmp_path / "f")
    now[0] += 10**9
    other = Shelf(limit=3, lifetime=5, clock=lambda: now[0])
    other.load(tmp_path / "f")
    now[0] += 10**9
    assert "a" in other and other.tags() == ["t"]


@pytest.mark.parametrize("lifetime", [0, 5])
def test_a_lifetime_may_end_when_the_clock_shows_zero(lifetime):
    now = [-float(lifetime)]
    shelf = Shelf(clock=lambda: now[0])
    shelf.put("a", 1, lifetime=lifetime)
    now[0] += lifetime
    assert "a" not in shelf and len(shelf) == 0 and shelf.get("a", 2) == 2


def test_the_message_about_the_limit_names_what_was_given():
    with pytest.raises(ValueError) as told:
        Shelf(limit=0)
    assert str(told.value) == "limit: expected at least 1, got 0"


def test_none_is_a_value_like_any_other(shelf):
    for key in "abc":
        shelf.put(key, None, tags=["t"])
    assert shelf.get("a", 5) is None and shelf.stats.hits == 1
    assert "b" in shelf and len(shelf) == 3
    assert shelf.drop("b") and not shelf.drop("b")
    assert shelf.drop_tag("t") == 2 and shelf.stats.dropped == 3


@pytest.mark.parametrize("content", [None, "{", "no JSON\n"])
def test_a_file_that_cannot_be_loaded_changes_nothing(shelf, tmp_path, content):
    path = tmp_path / "shelf"
    if content is not None:
        path.write_text(content)
    shelf.put("a", 1, tags=["t"])
    shelf.put("b", 2)
    with pytest.raises((OSError, ValueError)):
        shelf.load(path)
    assert list(shelf) == ["a", "b"] and shelf.tags() == ["t"]
    assert shelf.get("a") == 1 and shelf.drop_tag("t") == 1
