"""Ends of an episode compared file by file: what a clock wrote does not count, all else does."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import tarfile
import time
import zipfile
import zlib
from pathlib import Path

import pytest

from agentgym.record.volatile.masking import Masking
from agentgym.record.volatile.times import Period
from agentgym.records import Change, ChangeKind, FileStat
from agentgym.verify import manifest
from agentgym.verify.manifest import differing_files, list_files

NOW = 1_795_000_000
MASKING = Masking((Period(NOW - 600, NOW + 600),))


class Folder:
    """A folder of the host as a tree."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def stat(self, path, *, follow=True):
        there = self.root / path.lstrip("/")
        found = there.lstat()
        kind = "dir" if there.is_dir() else "file"
        return FileStat(kind, found.st_mode & 0o7777, found.st_size, "", 0.0)

    def read(self, path, *, max_bytes):
        return (self.root / path.lstrip("/")).read_bytes()[:max_bytes]


def listed(root, masking=MASKING):
    paths = sorted(f"/{path.relative_to(root)}" for path in root.rglob("*"))
    changes = [Change(path, ChangeKind.ADDED) for path in paths]
    return {"files": list_files(changes, Folder(root), (), masking)}


def differing(make, tmp_path, *others):
    """Return what differs between a world made at one time and one made later, or otherwise."""
    roots = [tmp_path / "was", tmp_path / "now"]
    for number, root in enumerate(roots):
        root.mkdir()
        make(root, NOW + 100 * number, *(others[number : number + 1]))
    return differing_files(*(listed(root) for root in roots))


def git(root, at, *arguments):
    clock = {"GIT_COMMITTER_DATE": f"@{at} +0000", "GIT_AUTHOR_DATE": f"@{at} +0000"}
    names = {
        f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        **{"cwd": root, "check": True, "stdout": subprocess.DEVNULL},
        env={**os.environ, **clock, **names, "GIT_CONFIG_GLOBAL": "/dev/null"},
    )


def commit(root, at, text="same"):
    git(root, at, "init", "-q", ".")
    for number in range(3):
        (root / "sub").mkdir(exist_ok=True)
        (root / f"sub/{number}").write_text(f"{text} at {at + number}\n")
        git(root, at, "add", ".")
        git(root, at + number, "commit", "-qm", f"number {number}")
    git(root, at, "tag", "-am", "it", "v1")
    head = (root / ".git/refs/heads/main").read_text()
    (root / "head").write_text(f"{head}{head[:9]}\n")


def test_commits_of_another_time_are_the_same_state(tmp_path):
    found = differing(commit, tmp_path)
    assert found is not None
    assert {"/.git/refs/heads/main", "/.git/index", "/.git/logs/HEAD", "/head"} <= {*found}


def test_commits_of_other_contents_are_another_state(tmp_path):
    assert differing(commit, tmp_path, "same", "another") is None


def test_a_tree_that_lacks_a_file_is_another_state(tmp_path):
    def make(root, at, lacking):
        commit(root, at)
        if lacking:
            git(root, at, "rm", "-q", "--cached", "sub/1")

    assert differing(make, tmp_path, False, True) is None


def test_objects_that_name_each_other_in_a_circle_are_read(tmp_path):
    def make(root, at):
        for name, other in (("a" * 40, "b" * 40), ("b" * 40, "a" * 40)):
            there = root / ".git/objects" / name[:2] / name[2:]
            there.parent.mkdir(parents=True)
            there.write_bytes(zlib.compress(f"commit 1\0parent {other}\n{at} +0000".encode()))

    assert differing(make, tmp_path) is not None


def pack(root, at, text="same", format=tarfile.PAX_FORMAT):
    for name, mode in (("plain.tar", "w"), ("small.tgz", "w:gz")):
        with tarfile.open(root / name, mode, format=format) as archive:
            for member in ("one", "two"):
                entry = tarfile.TarInfo(member)
                data = f"{text} at {at}".encode()
                entry.size, entry.mtime = len(data), at + 0.25
                archive.addfile(entry, io.BytesIO(data))
    (root / "log.gz").write_bytes(gzip.compress(f"{text} at {at}".encode(), mtime=at))
    with zipfile.ZipFile(root / "all.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("one", time.gmtime(at)[:6]), text)
    (root / "m.cpython-311.pyc").write_bytes(b"MAGC" + bytes(4) + at.to_bytes(4) + text.encode())


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_archives_of_another_time_are_the_same_state(tmp_path, format):
    found = differing(lambda root, at: pack(root, at, format=format), tmp_path)
    assert found is not None and len(found) == 5


@pytest.mark.parametrize(
    "name", ["plain.tar", "small.tgz", "log.gz", "all.zip", "m.cpython-311.pyc"]
)
def test_an_archive_of_something_else_is_another_state(tmp_path, name):
    def make(root, at, text):
        pack(root, at, text)
        for other in root.iterdir():
            if other.name != name:
                other.unlink()

    assert differing(make, tmp_path, "same", "another") is None


def test_a_member_of_another_name_or_mode_is_another_state(tmp_path):
    def make(root, at, name, mode=0o644):
        with tarfile.open(root / "x.tar", "w") as archive:
            entry = tarfile.TarInfo(name)
            entry.mode = mode
            archive.addfile(entry)

    (tmp_path / "names").mkdir()
    assert differing(make, tmp_path / "names", "one", "two") is None


def test_a_folder_and_a_file_of_temporary_names_are_told_apart(tmp_path):
    def make(root, at, first):
        (root / "tmp").mkdir()
        names = ["tmp/tmpaaaaaaaa", "tmp/tmpbbbbbbbb"][:: 1 if first else -1]
        (root / names[0]).mkdir()
        (root / names[1]).touch()

    found = differing(make, tmp_path, True, False)
    assert found is not None and len(found) == 2


@pytest.mark.parametrize(
    "made",
    [
        b"DIRC\0\0\0\2\xff\xff\xff\xff",
        b"DIRC" + bytes(4000),
        b"\x1f\x8b\x08" + bytes(300),
        b"PK\x03\x04" + bytes(300),
        b"\0" * 257 + b"ustar" + b"9" * 400,
        b"\0" * 124 + b"77777777777\0" + b"\0" * 121 + b"ustar" + bytes(300),
        # These take half a second to make, and every worker collects this module.
        lambda: gzip.compress(bytes(64 << 20), mtime=0),
        lambda: zlib.compress(b"commit 1\0" + bytes(64 << 20)),
    ],
    ids=["index", "short index", "gzip", "zip", "tar", "large tar", "bomb", "object"],
)
def test_a_damaged_or_hostile_file_is_compared_as_it_is(tmp_path, made):
    data = made() if callable(made) else made

    def make(root, at, data):
        (root / "objects/aa").mkdir(parents=True)
        (root / "objects/aa" / ("a" * 38)).write_bytes(data)

    assert differing(make, tmp_path, data, data) == ()
    (tmp_path / "again").mkdir()
    assert differing(make, tmp_path / "again", data, data + b"x") is None


def test_of_a_bomb_only_the_time_in_the_header_is_left_out(tmp_path):
    def make(root, at):
        (root / "x.gz").write_bytes(gzip.compress(bytes(64 << 20), mtime=at))

    assert differing(make, tmp_path) == ("/x.gz",)


@pytest.mark.parametrize(("most_bytes", "found"), [(100, ("/0", "/1")), (15, None)])
def test_files_beyond_the_budget_are_compared_as_they_are(tmp_path, monkeypatch, most_bytes, found):
    monkeypatch.setattr(manifest, "MASKED_BYTES", most_bytes)

    def make(root, at):
        for number in range(2):
            (root / f"{number}").write_text(f"{at}")

    assert differing(make, tmp_path) == found
