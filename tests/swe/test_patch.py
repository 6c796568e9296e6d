"""Patches: computed from trees, written and applied as text, bounded, and never out of the tree."""

import random
import subprocess

import pytest

from agentgym.records import Change, ChangeKind
from agentgym.swe.apply import apply_diff
from agentgym.swe.diff import write_diff
from agentgym.swe.patch import (
    FILE_BYTES,
    Entry,
    FileChange,
    Patch,
    PatchError,
    compare_trees,
    overlay,
    patch_of,
)
from agentgym.verify.memory_evidence import Device, File, Link, MemoryTree

ROOT = "/srv/app"
BASE = {
    f"{ROOT}/a.py": "one\ntwo\n",
    f"{ROOT}/pkg/b.py": "b\n",
    f"{ROOT}/run": File(b"#!/bin/sh\n", 0o755),
    f"{ROOT}/latest": Link("a.py"),
    f"{ROOT}/.git/HEAD": "ref: refs/heads/main\n",
}


def compared(**after):
    """The patch of what `after` changes; a name has `__` for a slash."""
    now = BASE | {f"{ROOT}/{name.replace('__', '/')}": entry for name, entry in after.items()}
    now = {path: entry for path, entry in now.items() if entry is not None}
    changed = sorted(path for path in BASE | now if BASE.get(path) != now.get(path))
    changes = [Change(path, ChangeKind.MODIFIED) for path in changed]
    return compare_trees(MemoryTree(BASE), MemoryTree(now), ROOT, changes)


def text(data):
    return Entry("file", data)


def base(files):
    return {name: text(data) for name, data in files.items()}.get


def test_what_changed_is_found_from_outside():
    patch = compared(
        **{"a.py": "one\r\n", "new/x.bin": b"\0\xff", "run": File(b"#!/bin/sh\n", 0o644)},
        latest=Link("pkg"),
        pkg__b="x",
    )
    assert patch.paths == ("a.py", "latest", "new/x.bin", "pkg/b", "run")
    found = {change.path: change.after for change in patch.changes}
    assert found["a.py"] == text(b"one\r\n")
    assert found["latest"] == Entry("link", b"pkg")
    assert not found["run"].executable


def test_git_caches_environments_and_special_files_are_no_part_of_it():
    junk = {
        ".git/hooks/pre-commit": "x",
        "pkg/__pycache__/b.cpython-311.pyc": "x",
        "sub/.git/config": "x",
        ".venv/lib/x.py": "x",
        "pipe": Device(),
    }
    assert compared(**junk).paths == ()


def test_a_path_below_a_link_of_the_agents_is_none_of_the_repository():
    outside = {"/etc/b.py": "secret"}
    now = {path: entry for path, entry in BASE.items() if "/pkg/" not in path} | outside
    now[f"{ROOT}/pkg"] = Link("/etc")
    changes = [Change(path, ChangeKind.MODIFIED) for path in (f"{ROOT}/pkg", f"{ROOT}/pkg/b.py")]
    patch = compare_trees(MemoryTree(BASE), MemoryTree(now), ROOT, changes)
    assert {c.path: c.after for c in patch.changes} == {
        "pkg": Entry("link", b"/etc"),
        "pkg/b.py": None,
    }


@pytest.mark.parametrize("top", [Link("/tmp"), "a file", None])
def test_a_repository_that_is_gone_is_a_clear_failure(top):
    now = {"/tmp/x": "x"} | ({ROOT: top} if top else {})
    with pytest.raises(PatchError, match="removed or replaced"):
        compare_trees(MemoryTree(BASE), MemoryTree(now), ROOT, [])


@pytest.mark.parametrize(
    "files",
    [
        {"big.bin": File(b"\0" * (FILE_BYTES + 1))},
        {f"part{n}.bin": File(b"\0" * FILE_BYTES) for n in range(3)},
        {f"many/{n}": "x" for n in range(5_001)},
    ],
    ids=["a large file", "much in all", "many files"],
)
def test_a_patch_is_bounded(files):
    with pytest.raises(PatchError, match="large|too many"):
        compared(**files)


def test_files_of_the_grader_replace_those_of_the_patch():
    patch = Patch(
        (
            FileChange("tests", None, Entry("link", b"/tmp")),
            FileChange("tests/test_a.py", text(b"old"), None),
            FileChange("tests/new/x.py", None, text(b"x")),
            FileChange("src.py", None, text(b"y")),
        )
    )
    laid = overlay(patch, {"tests/test_a.py": text(b"gold"), "tests/new": text(b"gold")})
    assert {c.path: c.after for c in laid.changes} == {
        "tests": None,
        "tests/test_a.py": text(b"gold"),
        "tests/new": text(b"gold"),
        "src.py": text(b"y"),
    }


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", ".git/config", "sub/.GIT/hooks/x", "a//b", ""]
)
def test_paths_out_of_the_repository_are_refused(path):
    with pytest.raises(PatchError):
        patch_of([FileChange(path, None, text(b"x"))])
    if path and not path.startswith("/"):
        diff = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
        with pytest.raises(PatchError):
            apply_diff(diff, base({}))


ADD = "diff --git a/{0} b/{0}\nnew file mode {1}\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+{2}\n"


@pytest.mark.parametrize(
    "diff",
    [
        ADD.format("x", "120000", "/usr/lib/python3") + ADD.format("x/a/site.py", "100644", ""),
        ADD.format("x/site.py", "100644", "") + ADD.format("x", "120000", "/usr/lib/python3"),
        ADD.format("x", "100644", "a file") + ADD.format("x/y.py", "100644", ""),
        ADD.format("out/site.py", "100644", ""),
        ADD.format("f/y.py", "100755", ""),
    ],
)
def test_nothing_is_put_below_a_link_or_a_file(diff):
    files = {"f": text(b""), "out": Entry("link", b"/usr/lib/python3")}
    with pytest.raises(PatchError, match="below a file or link"):
        apply_diff(diff, files.get)


def test_a_file_may_become_a_folder():
    removed = (
        "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )
    patch = apply_diff(removed + ADD.format("f/y", "100644", "y"), base({"f": b"x\n"}))
    assert patch.paths == ("f", "f/y")


LINES = b"".join(b"line %d\n" % number for number in range(40))
HUNK = "--- a/f\n+++ b/f\n@@ -{at},3 +{at},3 @@\n line 19\n-line 20\n+LINE 20\n line 21\n"


@pytest.mark.parametrize("at", [20, 1, 33, 900])
def test_a_hunk_is_found_where_it_fits(at):
    (change,) = apply_diff(HUNK.format(at=at), base({"f": LINES})).changes
    assert change.after == text(LINES.replace(b"line 20\n", b"LINE 20\n"))


def test_context_that_differs_is_left_out_and_no_more():
    shifted = LINES.replace(b"line 19\n", b"other\n")
    assert apply_diff(HUNK.format(at=20), base({"f": shifted})).paths == ("f",)
    with pytest.raises(PatchError, match="hunk 1"):
        apply_diff(HUNK.format(at=20), base({"f": shifted}), fuzz=0)
    with pytest.raises(PatchError, match="hunk 1"):
        apply_diff(HUNK.format(at=20), base({"f": LINES.replace(b"line 20\n", b"x\n")}))


@pytest.mark.parametrize(
    "diff, message",
    [
        ("nonsense\n", "names no file"),
        ("--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n", "no such file"),
        ("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+y\n", "exists already"),
        ("--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n line 0\n", "wrong length"),
        ("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 0\n", "other content"),
        ("diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n", "submodule"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-line 0\n+\ud800\n", "not Unicode"),
        ("diff --git a/f b/f\nGIT binary patch\nliteral 5\nz\n\n", "base 85"),
        ("diff --git a/f b/f\nGIT binary patch\nliteral 99999999999\nz\n\n", "at most"),
    ],
)
def test_a_patch_that_does_not_apply_says_why(diff, message):
    with pytest.raises(PatchError, match=message):
        apply_diff(diff, base({"f": LINES}))


def test_a_file_is_not_moved_over_another():
    diff = "diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n"
    assert apply_diff(diff, base({"f": LINES})).paths == ("f", "g")
    with pytest.raises(PatchError, match="g: the patch moves .* exists already"):
        apply_diff(diff, base({"f": LINES, "g": b""}))


def test_many_hunks_in_wrong_places_end_soon():
    hunk = "@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
    with pytest.raises(PatchError):
        apply_diff("--- a/f\n+++ b/f\n" + hunk * 2000, base({"f": b"x\n" * 50_000}))


def test_what_git_writes_is_read_and_what_is_written_git_applies(tmp_path):
    """Random changes of odd files, forth and back, with Git as the judge."""
    draw = random.Random(7)
    files = {name: text(odd(draw)) for name in ("a", "d/b c", 'q"', "ü", "t\tab", "bin", "gone")}
    now = {name: changed(draw, entry) for name, entry in files.items() if name != "gone"}
    now["new"] = Entry("file", odd(draw), True)
    now["link"] = Entry("link", b"a")
    patch = patch_of(
        FileChange(name, files.get(name), now.get(name)) for name in sorted(files | now)
    )
    for name, entry in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(entry.data)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    diff = write_diff(patch)
    assert apply_diff(diff, files.get, fuzz=0) == patch
    git(tmp_path, "apply", "--index", "-", stdin=diff.encode())
    said = git(tmp_path, "diff", "--cached", "--binary", "-M", "HEAD")
    assert apply_diff(said, files.get, fuzz=0) == patch


def odd(draw):
    kinds = [
        draw.randbytes(300),
        b"".join(draw.choice([b"a\r\n", b"b\n", b"\xe9\n"]) for _ in range(30)),
        b"\n".join(draw.choice([b"x", b"", b"\ttab", "é".encode()]) for _ in range(40)),
    ]
    return draw.choice(kinds) + draw.randbytes(1).hex().encode()


def changed(draw, entry):
    lines = entry.data.split(b"\n")
    lines.insert(draw.randrange(len(lines)), b"new")
    lines.pop(draw.randrange(len(lines)))
    return Entry("file", b"\n".join(lines), draw.random() < 0.5)


def git(folder, *words, stdin=b""):
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "core.autocrlf=false"]
    done = subprocess.run(
        ["git", *who, *words], cwd=folder, input=stdin, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
