"""Evidence and the in-memory tree that stands in for a snapshot in tests of checks."""

from __future__ import annotations

import doctest

import pytest

from agentgym.errors import GuestFileError, UnsupportedError, VerifierError
from agentgym.records import Change, ChangeKind
from agentgym.testing import checks
from agentgym.testing.checks import Device, File, Folder, Link, MemoryTree, evidence


def test_gold_is_found_by_name_and_its_absence_names_the_close_match() -> None:
    seen = evidence({}, gold={"members.json": b"{}"})
    assert seen.gold("members.json") == b"{}"
    with pytest.raises(VerifierError, match=r"did you mean 'members.json'"):
        seen.gold("member.json")


def test_evidence_from_mappings_has_no_room() -> None:
    with pytest.raises(UnsupportedError, match="sandbox"):
        evidence({}).room(["/srv"])


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(checks).failed == 0


TREE = MemoryTree(
    {
        "/srv/app/main.py": File(b"print()", 0o755, 3.0),
        "/srv/empty": Folder(0o700),
        "/srv/abs": Link("/srv/app"),
        "/srv/app/up": Link("../empty/../app/main.py"),
        "/srv/out": Link("../../../srv/app/main.py"),
        "/srv/loop": Link("loop"),
        "/srv/dangling": Link("nothing"),
        "/srv/fifo": Device(),
    }
)


@pytest.mark.parametrize("path", ["/srv/abs/main.py", "/srv/app/up", "/srv/out", "/srv/./abs/up"])
def test_links_are_followed_inside_the_root(path: str) -> None:
    assert TREE.read(path) == b"print()"


def test_stat_follows_links_only_when_asked() -> None:
    followed, itself = TREE.stat("/srv/abs"), TREE.stat("/srv/abs", follow=False)
    assert followed is not None and followed.kind == "dir"
    assert itself is not None and (itself.kind, itself.target) == ("link", "/srv/app")
    assert TREE.stat("/srv/loop") is TREE.stat("/srv/dangling") is TREE.stat("/no/where") is None
    assert TREE.stat("/srv/app/main.py/x") is None


@pytest.mark.parametrize("path", ["/srv/app", "/srv/nothing", "/srv/loop", "/srv/fifo"])
def test_only_regular_files_can_be_read(path: str) -> None:
    with pytest.raises(GuestFileError, match=path):
        TREE.read(path)


def test_reading_is_bounded() -> None:
    assert TREE.read("/srv/app/main.py", max_bytes=7)
    with pytest.raises(GuestFileError):
        TREE.read("/srv/app/main.py", max_bytes=6)


def test_listing_and_walking() -> None:
    assert TREE.list("/srv/abs") == ["main.py", "up"]
    assert [path for path, _ in TREE.walk("/srv/abs")] == ["/srv/app/main.py", "/srv/app/up"]
    assert [path for path, _ in TREE.walk("/")][:3] == ["/srv", "/srv/abs", "/srv/app"]
    with pytest.raises(GuestFileError):
        TREE.list("/srv/app/main.py")


def test_changes_are_worked_out_from_before_and_after() -> None:
    seen = evidence({"/a": "2", "/b/c": "x"}, before={"/a": "1", "/d": "x"})
    assert list(seen.changes) == [
        Change("/a", ChangeKind.MODIFIED),
        Change("/b", ChangeKind.ADDED),
        Change("/b/c", ChangeKind.ADDED),
        Change("/d", ChangeKind.DELETED),
    ]
