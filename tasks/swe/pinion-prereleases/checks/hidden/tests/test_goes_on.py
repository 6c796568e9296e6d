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


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda: Version(" v1"), "no version: ' v1'"),
        (lambda: read_constraints(">=1, what "), "no constraint: 'what'"),
        (lambda: read_constraints(""), "no constraint: ''"),
        (lambda: read_constraints(">=1,"), "no constraint: ''"),
        (lambda: read_constraints(">=x"), "no version: 'x'"),
        (lambda: read_index("web 1.0\nweb 1.0\n"), "web 1.0 is there twice"),
        (lambda: read_index("# x\n\n  db\nweb 1\n"), "line 3: a need of no package"),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_before(act, told):
    with pytest.raises(ValueError) as caught:
        act()
    assert str(caught.value) == told


def test_what_an_index_holds():
    index = read_index("# needs\nweb 1.9\n  db >=1.4, <2\n\n# and more\n\tapi\n   log  * \ndb 1.4.2\nend 1\nweb 2.0\n")
    shown = {
        name: {str(version): {other: [str(each) for each in needs] for other, needs in found.items()} for version, found in versions.items()}
        for name, versions in index.needs.items()
    }
    assert shown == {
        "web": {"1.9": {"db": [">=1.4", "<2"], "api": ["*"], "log": ["*"]}, "2.0": {}},
        "db": {"1.4.2": {}},
        "end": {"1": {}},
    }
    assert read_index("").needs == {} and Index().needs == {} and Index().needs is not Index().needs


def test_needs_that_are_added_are_those_of_that_time():
    index, needs = Index(), {"db": ">=1"}
    index.add("web", "1", needs)
    needs["api"] = "*"
    index.add("db", "1")
    assert list(resolve(index, {"web": "*"})) == ["web", "db"]
    versions = index.versions("web")
    versions.clear()
    assert index.versions("web") == [Version("1")]


@pytest.mark.parametrize(
    ("text", "operator", "version"),
    [("==1", "==", "1"), ("!= 1.0", "!=", "1.0"), ("> 1", ">", "1"), ("<=1", "<=", "1"), ("^1.2", "^", "1.2"), ("~1a1", "~", "1a1"), (" * ", "", None)],
)
def test_constraints_are_values(text, operator, version):
    (one,) = read_constraints(text)
    assert (one.operator, one.version and str(one.version)) == (operator, version)
    assert one == read_constraints(text)[0] and hash(one) == hash(read_constraints(text)[0])
    assert one.names_prerelease is (version == "1a1")
    with pytest.raises(AttributeError):
        one.operator = "<"


def test_versions_compare_with_versions_only():
    one = Version("1.0")
    assert one != "1.0" and not one == (1, 0) and one not in ["1.0", None]
    with pytest.raises((TypeError, AttributeError)):
        assert one < "2.0"
    assert Version("1.0rc1").is_prerelease is True and one.is_prerelease is False
    assert one >= Version("1.0rc1") and one > Version("1.0b9") and Version("2") > one


@pytest.mark.parametrize("text", ["1.0A1", "1.0 rc1", "1.0rc", "1..0", ".1", "1.0rc1.2", "1,0", "-1"])
def test_what_else_is_no_version(text):
    with pytest.raises(VersionError):
        Version(text)
