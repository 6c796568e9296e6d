def test_everything_with_a_tag_goes(shelf):
    shelf.put("a", 1, tags=["x", "y"])
    shelf.put("b", 2, tags=["x"])
    shelf.put("c", 3, tags=["y"])
    assert shelf.drop_tag("x") == 2
    assert list(shelf) == ["c"]
    assert shelf.stats.dropped == 2


def test_a_tag_that_nothing_carries(shelf):
    assert shelf.drop_tag("x") == 0
