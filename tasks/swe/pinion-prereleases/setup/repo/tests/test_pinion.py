import pytest

from pinion import ConstraintError, ResolutionError, Version, VersionError, read_constraints, read_index, resolve

INDEX = """\
# packages
web 1.9
  db >=1.4, <2
web 1.8
  db
db 1.4.2
db 1.3
db 2.0
"""


def test_the_newest_versions_are_chosen():
    assert resolve(read_index(INDEX), {"web": ">=1.2"}) == {"web": Version("1.9"), "db": Version("1.4.2")}


def test_what_is_not_there():
    with pytest.raises(ResolutionError, match="web"):
        resolve(read_index(INDEX), {"web": ">2"})
    with pytest.raises(ResolutionError, match="api"):
        resolve(read_index(INDEX), {"api": "*"})


def test_versions():
    assert Version("1.10") > Version("1.9") > Version("1.9rc1") > Version("1.9b2") > Version("1.9a1")
    assert str(Version(" 1.0 ")) == "1.0"


@pytest.mark.parametrize("text", ["", "1.", "v1", "1.0-1", "1.0rc"])
def test_what_is_no_version(text):
    with pytest.raises(VersionError):
        Version(text)


@pytest.mark.parametrize("text", ["", "1.0", "=1.0", ">=1.0,"])
def test_what_is_no_constraint(text):
    with pytest.raises(ConstraintError):
        read_constraints(text)


@pytest.mark.parametrize("text", ["  db", "web 1\nweb 1"])
def test_what_is_no_index(text):
    with pytest.raises(ValueError):
        read_index(text)
