import pytest

from shelf import Shelf


def test_what_was_put_is_there(shelf):
    shelf.put("a", None)
    assert "a" in shelf
    assert shelf.get("a", default=1) is None
    assert shelf.get("b", default=1) == 1
    assert (shelf.stats.hits, shelf.stats.misses) == (1, 1)


def test_lifetimes_end(shelf, clock):
    shelf.put("a", 1)
    shelf.put("b", 2, lifetime=10)
    clock.now += 10
    assert "b" not in shelf and len(shelf) == 1
    assert shelf.get("b") is None
    assert shelf.stats.expired == 1


def test_the_least_recently_used_entry_leaves(shelf):
    for key in "abc":
        shelf.put(key, key)
    shelf.get("a")
    shelf.put("d", "d")
    assert list(shelf) == ["c", "a", "d"]
    assert shelf.stats.evicted == 1


def test_drop(shelf):
    shelf.put("a", 1)
    assert shelf.drop("a") and not shelf.drop("a")
    assert shelf.stats.dropped == 1


def test_sweep(shelf, clock):
    shelf.put("a", 1, lifetime=5)
    shelf.put("b", 1)
    clock.now += 6
    assert shelf.sweep() == 1
    assert list(shelf) == ["b"]


def test_a_limit_of_nothing_is_refused():
    with pytest.raises(ValueError):
        Shelf(limit=0)
