from shelf import Shelf


def test_values_and_order_survive(shelf, clock, tmp_path):
    shelf.put("a", {"n": 1})
    shelf.put("b", [2])
    shelf.get("a")
    shelf.save(tmp_path / "shelf")
    other = Shelf(limit=3, clock=clock)
    other.load(tmp_path / "shelf")
    assert list(other) == ["b", "a"]
    assert other.get("a") == {"n": 1}


def test_lifetimes_go_on(shelf, clock, tmp_path):
    shelf.put("a", 1, lifetime=10)
    clock.now += 4
    shelf.save(tmp_path / "shelf")
    clock.now = 5000.0
    other = Shelf(clock=clock)
    other.load(tmp_path / "shelf")
    clock.now += 5.9
    assert "a" in other
    clock.now += 0.2
    assert "a" not in other
