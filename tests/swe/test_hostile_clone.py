"""Clones of strangers: Git is never left waiting, and never fills this process."""

import os
import subprocess
import time

import pytest

from agentgym.errors import TaskError
from agentgym.swe import git_process, task_folder
from agentgym.swe.clone import find_clone, open_clone
from agentgym.swe.mining.history import merged_changes
from agentgym.swe.task_folder import write_files

PEOPLE = {
    f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def git(folder, *arguments, stdin=None):
    done = subprocess.run(
        ["git", "-C", folder, *arguments],
        input=stdin,
        capture_output=True,
        check=True,
        env={**os.environ, **PEOPLE, "GIT_CONFIG_GLOBAL": "/dev/null"},
    )
    return done.stdout.decode().strip()


@pytest.fixture
def clone(tmp_path):
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in (1, 2):
        (folder / "a.txt").write_text(str(number))
        git(folder, "add", "a.txt")
        git(folder, "commit", "-q", "-m", f"change {number}")
    return folder


def fifo(path):
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize(
    "name",
    ["packed-refs", "HEAD", "config", "objects/info/alternates", "refs/heads/x/y", "shallow"],
)
def test_a_fifo_is_refused_by_name_before_git_waits_for_it(clone, name):
    fifo(clone / ".git" / name)
    with pytest.raises(TaskError, match=f"{name} is a FIFO"):
        open_clone(clone)
    with pytest.raises(TaskError, match="is a FIFO"):
        find_clone(clone, "owner/clone")


@pytest.mark.parametrize(
    "place",
    ["a link to it", "a link to its folder", "a folder of other objects", "another Git folder"],
)
def test_what_git_is_led_to_is_looked_at_too(clone, tmp_path, place):
    other = tmp_path / "other"
    fifo(other / "pack" / "x.idx")
    dot_git, target = clone / ".git", clone
    if place == "a link to it":
        (dot_git / "packed-refs").symlink_to(other / "pack" / "x.idx")
    elif place == "a link to its folder":
        (dot_git / "refs" / "x").symlink_to(other)
    elif place == "a folder of other objects":
        (dot_git / "objects" / "info" / "alternates").write_text(f"{other}\n")
    else:
        target = tmp_path / "tree"
        target.mkdir()
        (target / ".git").write_text(f"gitdir: {other}\n")
    with pytest.raises(TaskError, match="is a FIFO"):
        open_clone(target)


@pytest.mark.parametrize(
    "place",
    [".gitattributes", ".mailmap", "include.path", "includeIf.gitdir:/**.path", "mailmap.file"],
)
def test_git_waits_for_nothing_that_a_tree_or_a_configuration_names(clone, tmp_path, place):
    fifo(clone / place if place.startswith(".") else tmp_path / "fifo")
    if not place.startswith("."):
        git(clone, "config", place, str(tmp_path / "fifo"))
    began_s = time.monotonic()
    found = open_clone(clone)
    (change,) = merged_changes(found)
    assert b"+2" in found.diff(change.base, change.commit)
    assert found.committed_at(change.commit).year >= 2026
    assert time.monotonic() - began_s < 20  # each wait was 30 s, and more


def test_clones_with_other_digests_and_refs_are_read(tmp_path):
    folder = tmp_path / "clone"
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256", folder)
    (folder / "a.txt").write_text("1")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "one")
    git(folder, "pack-refs", "--all")
    git(folder, "config", "remote.origin.url", "https://github.com/o/n.git")
    found = open_clone(folder)
    assert found.commit("main") == found.commit("HEAD") == git(folder, "rev-parse", "HEAD")
    assert found.setting("remote.origin.url") == "https://github.com/o/n.git"
    (folder / "sub").mkdir()
    with pytest.raises(TaskError, match="top folder of a clone"):
        open_clone(folder / "sub")


def test_honest_clones_of_every_kind_are_read(clone, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", clone, "bare.git")
    git(tmp_path, "clone", "-q", "--shared", clone, "shared")
    git(clone, "worktree", "add", "-q", "--detach", tmp_path / "worktree")
    (clone / ".git" / "broken").symlink_to("nowhere")
    (clone / ".git" / "circle").symlink_to("circle")
    for name in ("clone", "bare.git", "shared", "worktree"):
        found = open_clone(tmp_path / name)
        assert [change.subject for change in merged_changes(found)] == ["change 2"]
        head = found.commit("HEAD")
        assert [data for _, data in found.contents(found.entries(head))] == [b"2"]


def test_what_git_prints_is_bounded(clone, monkeypatch):
    monkeypatch.setattr(git_process, "MOST_OUTPUT", 3 << 20)
    empty = git(clone, "hash-object", "-t", "tree", "-w", "--stdin", stdin=b"")
    message = b"m" * (4 << 20)
    bomb = git(clone, "commit-tree", empty, "-p", "HEAD", stdin=message)
    found = open_clone(clone)
    with pytest.raises(TaskError, match="git log printed more than 3 MiB"):
        list(merged_changes(found, bomb))


def test_a_tree_of_billions_of_names_is_bounded(clone, monkeypatch):
    monkeypatch.setattr(git_process, "MOST_OUTPUT", 3 << 20)
    blob = git(clone, "hash-object", "-w", "--stdin", stdin=b"x")
    kind, entry = "100644 blob", blob
    for _ in range(10):  # 10 ** 10 names
        lines = "".join(f"{kind} {entry}\tf{n}\n" for n in range(10))
        entry, kind = git(clone, "mktree", stdin=lines.encode()), "040000 tree"
    bomb = git(clone, "commit-tree", entry, stdin=b"bomb")
    found = open_clone(clone)
    with pytest.raises(TaskError, match="git ls-tree printed more than 3 MiB"):
        list(found.entries(bomb))


def test_git_that_takes_too_long_or_too_much_memory_is_ended(clone, tmp_path):
    script = tmp_path / "slow"
    script.write_text("#!/bin/sh\nexec sleep 1000\n")
    script.chmod(0o755)
    began = time.monotonic()
    with pytest.raises(git_process.GitLimitError, match="took 0 s"):
        git_process.run_git([str(script)], {}, b"", 0.3)
    assert time.monotonic() - began < 60
    allocate = ["python3", "-c", "bytearray(6 << 30)"]
    code, _, said = git_process.run_git(allocate, {"PATH": os.environ["PATH"]}, b"", 60)
    assert code != 0 and "MemoryError" in said


def tree(clone, *rows):
    """Write a tree as Git would not: names twice, of any length, objects that are not there."""
    raw = b"".join(
        f"{mode} {name}".encode() + b"\0" + bytes.fromhex(object_id)
        for mode, name, object_id in rows
    )
    return git(clone, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)


def blob(clone, data):
    return git(clone, "hash-object", "-w", "--stdin", stdin=data)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        # A file through the link of the same name was written, anywhere on this machine.
        ([("120000", "a", "out"), ("100644", "a", "x")], "'a' cannot be written.*exists"),
        ([("100644", "a", "x"), ("120000", "a", "out")], "'a' cannot be written.*exists"),
        ([("120000", "a", "out"), ("160000", "a", "x")], "'a' cannot be written.*exists"),
        ([("100644", "a", "x"), ("40000", "a", "sub")], "'a/x' cannot be written.*exists"),
        ([("120000", "a", "out"), ("40000", "a", "sub")], "lies below the link a"),
        ([("100644", ".", "x")], "'.'; expected a plain path"),
        ([("100644", "n" * 300, "x")], "has at most 255 bytes"),
        ([("120000", "a", "empty")], "cannot be written.*No such file"),
        ([("120000", "a", "nul")], "cannot be written.*null byte"),
        ([("100644", "a", "absent")], "object 1111111111.* is not there"),
    ],
)
def test_a_tree_that_git_did_not_make_is_refused_and_writes_nothing_elsewhere(
    clone, tmp_path, rows, why
):
    out, target = tmp_path / "out", tmp_path / "target"
    target.mkdir()
    texts = {"out": str(out).encode(), "x": b"x", "empty": b"", "nul": b"a\0b"}
    ids = {name: blob(clone, data) for name, data in texts.items()} | {"absent": "1" * 40}
    ids["sub"] = tree(clone, ("100644", "x", ids["x"]))
    top = tree(clone, *((mode, name, ids[of]) for mode, name, of in rows))
    commit = git(clone, "commit-tree", top, stdin=b"odd")
    with pytest.raises(TaskError, match=why):
        write_files(open_clone(clone), commit, target)
    assert not out.exists()


def test_a_commit_of_too_many_files_is_refused(clone, tmp_path, monkeypatch):
    monkeypatch.setattr(task_folder, "_MOST_FILES", 2)
    top = tree(clone, *(("100644", f"f{n}", blob(clone, b"x")) for n in range(3)))
    commit = git(clone, "commit-tree", top, stdin=b"many")
    with pytest.raises(TaskError, match="more than 2 files"):
        write_files(open_clone(clone), commit, tmp_path)
