import pytest

from tern.feed import FeedError, Item, read_feed
from tern.files import complete_file
from tern.state import State


def test_feeds():
    assert read_feed(b"# x\n\nhttp://A/1 one two\nhttp://A/1 again\n") == [Item("http://A/1", "one two")]


@pytest.mark.parametrize("data", [b"http://a/1", b"nothing here", b"http://a/1 ../x", b"http://a/1 .x", b"\xff"])
def test_bad_feeds(data):
    with pytest.raises(FeedError):
        read_feed(data)


def test_files_are_complete_or_not_there(tmp_path):
    with pytest.raises(KeyError), complete_file(tmp_path / "x") as file:
        file.write(b"1")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_states(tmp_path):
    state = State(tmp_path)
    state.add("http://a/1", "a/1")
    state.save()
    assert "http://a/1" in State(tmp_path)
