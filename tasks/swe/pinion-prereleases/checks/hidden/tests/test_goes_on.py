"""Versions, constraints and indexes do what no line of the issue changes."""

import pytest

from pinion import ConstraintError, Index, Version, VersionError, read_constraints, read_index, resolve


def test_versions_of_an_index_are_the_newest_first():
    index = read_index("web 1.9\nweb 2.0rc1\nweb 0.3\nweb 1.10\n")
    assert [str(each) for each in index.versions("web")] == ["2.0rc1", "1.10", "1.9", "0.3"]
    assert index.versions("none") == []


@pytest.mark.parametrize("text", ["1.0", "1.0.0", "2.0rc01", "01.2", "0.10.0b3"])
def test_versions_and_constraints_are_shown_as_they_were_written(text):
    assert (str(Version(f" {text} ")), repr(Version(text))) == (text, f"Version({text!r})")
    assert [str(each) for each in read_constraints(f">={text}, *, ~ {text}")] == [f">={text}", "*", f"~{text}"]


@pytest.mark.parametrize("one, other", [("1.0", "1"), ("1.0.0", "1.0"), ("2.0rc1", "2rc1"), ("2.0rc01", "2.0rc1")])
def test_equal_versions_are_one_key(one, other):
    assert Version(one) == Version(other) and len({Version(one), Version(other)}) == 1
    assert Version(one) <= Version(other) and not Version(one) < Version(other)


@pytest.mark.parametrize("text", ["", "x", "1.", "1.0rc", "1.0-1", "v1"])
def test_what_is_no_version(text):
    with pytest.raises(VersionError):
        Version(text)
    with pytest.raises((VersionError, ConstraintError)):
        read_constraints(f">={text}")


def test_a_version_is_there_once():
    index = Index()
    index.add("web", "1.0")
    with pytest.raises(ValueError):
        index.add("web", "1.0.0")
    index.add("web", "1.0rc1", {"db": ">=1"})
    assert len(index.versions("web")) == 2


def test_what_is_given_is_not_changed():
    index = read_index("web 1\n  db\nweb 2\n  db >=9\ndb 1\n")
    wanted, before = {"web": "*"}, {name: dict(found) for name, found in index.needs.items()}
    assert {name: str(each) for name, each in resolve(index, wanted).items()} == {"web": "1", "db": "1"}
    assert wanted == {"web": "*"} and index.needs == before
    assert resolve(index, {}) == {}


@pytest.mark.parametrize("text", ["  db\nweb 1\n", "web 1\nweb 1.0\n", "web x\n", "web 1\n  db what\n"])
def test_what_is_no_index(text):
    with pytest.raises(ValueError):
        read_index(text)
