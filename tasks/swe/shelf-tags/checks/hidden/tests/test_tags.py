"""Tags, whatever happens to the entries that carry them."""

import json

import pytest

from shelf import Shelf


def test_everything_with_a_tag_goes(shelf):
    shelf.put("a", 1, tags=["x", "y"])
    shelf.put("b", 2, tags=["x"])
    shelf.put("c", 3, tags=["y"])
    assert shelf.drop_tag("x") == 2
    assert list(shelf) == ["c"]
    assert shelf.stats.dropped == 2
    assert shelf.drop_tag("y") == 1


def test_a_tag_that_nothing_carries(shelf):
    assert shelf.drop_tag("x") == 0


def test_another_put_replaces_the_tags(shelf):
    shelf.put("a", 1, tags=["x"])
    shelf.put("a", 2, tags=["y"])
    assert shelf.drop_tag("x") == 0
    assert shelf.get("a") == 2
    assert shelf.tags() == ["y"]


def test_an_evicted_entry_carries_nothing(shelf):
    for key in "abcd":
        shelf.put(key, key, tags=["x"])
    assert shelf.drop_tag("x") == 3
    assert (shelf.stats.evicted, shelf.stats.dropped) == (1, 3)


def test_a_key_that_comes_back_has_its_new_tags_only(shelf):
    for key in "abcd":
        shelf.put(key, key, tags=[f"old:{key}"])
    shelf.put("a", 1, tags=["new"])
    assert shelf.drop_tag("old:a") == 0
    assert "a" in shelf


def test_an_expired_entry_is_expired_and_not_dropped(shelf, clock):
    shelf.put("a", 1, lifetime=5, tags=["x"])
    shelf.put("b", 1, tags=["x"])
    clock.now += 5
    assert shelf.drop_tag("x") == 1
    assert (shelf.stats.expired, shelf.stats.dropped) == (1, 1)
    assert shelf.sweep() == 0


def test_drop_of_an_expired_entry(shelf, clock):
    shelf.put("a", 1, lifetime=5)
    clock.now += 5
    assert not shelf.drop("a")
    assert (shelf.stats.expired, shelf.stats.dropped) == (1, 0)


def test_putting_over_an_expired_entry_counts_it(shelf, clock):
    shelf.put("a", 1, lifetime=5)
    clock.now += 5
    shelf.put("a", 2)
    assert shelf.stats.expired == 1
    shelf.put("a", 3)
    assert shelf.stats.left == 1


def test_an_expired_entry_makes_room_before_a_live_one(shelf, clock):
    shelf.put("a", 1)
    shelf.put("b", 1, lifetime=5)
    shelf.put("c", 1)
    clock.now += 5
    shelf.put("d", 1)
    assert list(shelf) == ["a", "c", "d"]
    assert (shelf.stats.evicted, shelf.stats.expired) == (0, 1)


def test_tags_lists_live_entries_only(shelf, clock):
    shelf.put("a", 1, lifetime=5, tags=["x"])
    shelf.put("b", 1, tags=["y", "z"])
    clock.now += 5
    assert shelf.tags() == ["y", "z"]
    shelf.drop("b")
    assert shelf.tags() == []


def test_a_lifetime_of_zero_is_one(shelf):
    shelf.put("a", 1, lifetime=0)
    assert "a" not in shelf


def test_tags_survive_a_restart(shelf, clock, tmp_path):
    shelf.put("a", 1, tags=["x", "y"])
    shelf.put("b", 2, tags=["x"])
    shelf.save(tmp_path / "shelf")
    other = Shelf(limit=3, clock=clock)
    other.load(tmp_path / "shelf")
    assert other.tags() == ["x", "y"]
    assert other.drop_tag("y") == 1
    assert list(other) == ["b"]


def test_a_file_of_the_version_before_tags_can_be_read(clock, tmp_path):
    path = tmp_path / "shelf"
    path.write_text(json.dumps({"key": "a", "value": 1, "left": None}) + "\n")
    shelf = Shelf(clock=clock)
    shelf.load(path)
    assert shelf.get("a") == 1 and shelf.tags() == []


def test_a_file_is_the_same_for_the_same_shelf(shelf, tmp_path):
    tags = [f"t{number}" for number in range(40)]
    shelf.put("a", 1, tags=tags)
    shelf.save(tmp_path / "one")
    assert json.loads((tmp_path / "one").read_text())["tags"] == sorted(tags)


@pytest.mark.parametrize("order", ["abc", "cba"])
def test_every_entry_that_leaves_is_counted_once(shelf, clock, order):
    for key in order:
        shelf.put(key, 1, lifetime=10, tags=["x"])
    shelf.put("d", 1, tags=["x"])
    clock.now += 10
    shelf.get(order[1])
    shelf.drop_tag("x")
    assert shelf.stats.left == 4 and len(shelf) == 0
    assert (shelf.stats.evicted, shelf.stats.expired, shelf.stats.dropped) == (1, 2, 1)


def test_what_is_evicted_by_load_is_counted(shelf, clock, tmp_path):
    for key in "abc":
        shelf.put(key, key, tags=["t"])
    shelf.save(tmp_path / "shelf")
    small = Shelf(limit=1, clock=clock)
    small.load(tmp_path / "shelf")
    assert list(small) == ["c"] and small.stats.evicted == small.stats.left == 2
    assert small.drop_tag("t") == 1


def test_a_shelf_whose_lifetime_is_zero_keeps_nothing(clock):
    shelf = Shelf(lifetime=0, clock=clock)
    shelf.put("a", 1)
    assert "a" not in shelf and len(shelf) == 0
    shelf.put("b", 1, lifetime=5)
    assert "b" in shelf


def test_the_order_of_use_survives_a_restart(shelf, clock, tmp_path):
    shelf.put("a", 1, lifetime=9)
    shelf.put("b", 1)
    shelf.put("c", 1, lifetime=5)
    shelf.get("a")
    shelf.save(tmp_path / "shelf")
    other = Shelf(limit=3, clock=clock)
    other.load(tmp_path / "shelf")
    assert list(other) == ["b", "c", "a"]


def test_replacing_a_live_entry_counts_nothing_whatever_its_tags(shelf):
    shelf.put("a", 1, tags=["x", "y"])
    shelf.put("a", 2, tags=["z"])
    shelf.put("a", 3)
    assert shelf.stats.left == 0


def test_what_has_expired_is_not_saved(shelf, clock, tmp_path):
    shelf.put("a", 1, lifetime=5, tags=["x"])
    shelf.put("b", 1)
    clock.now += 5
    shelf.save(tmp_path / "shelf")
    assert [json.loads(line)["key"] for line in (tmp_path / "shelf").read_text().splitlines()] == ["b"]
