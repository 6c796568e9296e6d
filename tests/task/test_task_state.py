"""The state hash: what changes it, what does not; and globs against a table."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import pytest

from agentgym.records import Change, ChangeKind
from agentgym.task import state
from agentgym.task.state import path_matches, state_hash
from agentgym.testing.checks import Device, Entry, File, Folder, Link, MemoryTree, tree_changes

BEFORE: dict[str, Entry] = {"/srv/a": File(b"a"), "/srv/gone": File(b"x")}
AFTER: dict[str, Entry] = {
    "/srv/a": File(b"b", 0o600, mtime_s=5.0),
    "/srv/link": Link("a"),
    "/srv/new": Folder(0o700),
    "/srv/odd": Device(),
}


def hashed(after: dict[str, Entry], volatile: tuple[str, ...] = ()) -> str:
    tree = MemoryTree(after)
    return state_hash(tree_changes(MemoryTree(BEFORE), tree), tree, volatile)


def test_the_digest_is_what_its_docstring_says() -> None:
    content = hashlib.sha256(b"b").hexdigest()
    lines = [
        ["/srv/a", "modified", "file", 0o600, "", content],
        ["/srv/gone", "deleted"],
        ["/srv/link", "added", "link", 0o777, "a"],
        ["/srv/new", "added", "dir", 0o700, ""],
        ["/srv/odd", "added", "other", 0o644, ""],
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    assert hashed(AFTER) == hashlib.sha256(text.encode()).hexdigest()


def test_order_and_times_do_not_matter() -> None:
    tree = MemoryTree(AFTER)
    changes = tree_changes(MemoryTree(BEFORE), tree)
    later = {**AFTER, "/srv/a": File(b"b", 0o600, mtime_s=99.0)}
    assert state_hash(changes[::-1], tree, ()) == hashed(AFTER) == hashed(later)


@pytest.mark.parametrize(
    "other",
    [
        {"/srv/a": File(b"c", 0o600)},
        {"/srv/a": File(b"b", 0o640)},
        {"/srv/link": Link("b")},
        {"/srv/new": File(b"", 0o700)},
        {"/srv/more": File(b"")},
        {"/srv/gone": File(b"x")},
    ],
)
def test_anything_else_does(other: dict[str, Entry]) -> None:
    assert hashed({**AFTER, **other}) != hashed(AFTER)


def test_volatile_paths_are_left_out() -> None:
    noisy = {**AFTER, "/srv/run/app.pid": File(b"17"), "/srv/run": Folder()}
    assert hashed(noisy, ("/srv/run/**",)) == hashed(AFTER)
    assert hashed(noisy, ("/srv/*.pid",)) != hashed(AFTER)


def test_names_that_are_no_utf8_are_kept_apart() -> None:
    one, two = "/srv/\udcff", "/srv/\udcfe"
    assert hashed({one: File(b"")}) != hashed({two: File(b"")})


def test_a_huge_file_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "HASHED_BYTES", 3)

    def refuse(path: str, *, max_bytes: int = 0) -> bytes:
        raise AssertionError("read")

    tree = MemoryTree({"/srv/big": b"1234"})
    tree.read = refuse  # type: ignore[method-assign]
    changes = [Change("/srv/big", ChangeKind.ADDED)]
    bigger = MemoryTree({"/srv/big": b"12345"})
    assert state_hash(changes, tree, ()) != state_hash(changes, bigger, ())


def test_a_path_that_changed_and_is_gone_by_now_is_hashed_without_its_file() -> None:
    tree = MemoryTree({})
    change = Change("/srv/x", ChangeKind.MODIFIED)
    assert state_hash([change], tree, ()) != state_hash([], tree, ())
    deleted = dataclasses.replace(change, kind=ChangeKind.DELETED)
    assert state_hash([deleted], tree, ()) != state_hash([change], tree, ())


@pytest.mark.parametrize(
    ("path", "glob", "matches"),
    [
        ("/srv/a.log", "/srv/a.log", True),
        ("/srv/a.log", "/srv/*.log", True),
        ("/srv/sub/a.log", "/srv/*.log", False),
        ("/srv/sub/a.log", "/srv/**/*.log", True),
        ("/srv/a.log", "/srv/**/*.log", True),
        ("/srv", "/srv/**", True),
        ("/srv/x/y", "/srv/**", True),
        ("/srvx", "/srv/**", False),
        ("/srv/a1", "/srv/a[0-9]", True),
        ("/srv/ab", "/srv/a?", True),
        ("/srv/a", "/srv", False),
        ("/srv/A", "/srv/a", False),
        ("/anything/at/all", "/**", True),
        ("/a/b/c/d", "/**/b/**/d", True),
    ],
)
def test_globs(path: str, glob: str, matches: bool) -> None:
    assert path_matches(path, ["/nowhere", glob]) is matches


def test_there_is_an_end_to_hashing():
    tree = MemoryTree({"/srv/a": "x"})
    changes = [Change("/srv/a", ChangeKind.ADDED)]
    assert state_hash(changes, tree, []) != ""
    assert state_hash(changes, tree, [], until_s=0.0) == ""
