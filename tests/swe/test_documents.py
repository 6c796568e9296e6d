"""Checks of the documents that a patch changes: lost words, and lines that an issue asks for."""

import pytest

from agentgym.records import Change, ChangeKind
from agentgym.swe.native import Issue
from agentgym.swe.patch import compare_trees
from agentgym.verify.memory_evidence import File, MemoryTree

README = b"""# shelf

A cache with a lifetime for each
entry. An entry that was not put
again before its end is gone, and
it counts as expired.
"""
CHANGELOG = b"""# Changelog

## 1.4.0

* Tags, and `drop_tag` (#52).
* `save` and `load` (#47).
"""


def changed(tmp_path, name, before, after, noted=()):
    """Return an issue and a patch that changes one document."""
    (tmp_path / "issue.toml").write_text(
        'schema_version = "agentgym.issue/1"\nroot = "/srv/shelf"\ntests = ["tests"]\n'
        f"noted = {list(noted)!r}\n"
    )
    path = f"/srv/shelf/{name}"
    code = {"/srv/shelf/shelf.py": File(b"")}
    now = {} if after is None else {path: File(after)}
    trees = MemoryTree({path: File(before), **code}), MemoryTree({**code, **now})
    patch = compare_trees(*trees, "/srv/shelf", [Change(path, ChangeKind.MODIFIED)])
    return Issue(tmp_path, listed=False), patch


def lost(*arguments):
    """Return what a patch takes away from a document."""
    issue, patch = changed(*arguments)
    return list(issue.lost_documents(patch))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("README.md", README, b"# shelf\n\n" + b" ".join(README.split()[2:]) + b"\n"),
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b"* ", b"- ")),
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b"(#52).", b"(#52), which are sorted.")),
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b"## 1.4.0", b"## 1.4.1\n* A.\n\n## 1.4.0")),
    ],
    ids=["wrapped", "bullets", "continued", "new entry"],
)
def test_what_is_still_said_is_not_lost(tmp_path, name, before, after):
    assert lost(tmp_path, name, before, after) == []


@pytest.mark.parametrize(
    ("name", "before", "after", "says"),
    [
        ("README.md", README, b"# shelf\n", "most of README.md is gone"),
        ("README.md", README, b"", "most of README.md is gone"),
        ("README.md", README, None, "most of README.md is gone"),
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b" (#47)", b" (#48)"), "'47'"),
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b"* `save` and `load` (#47).\n", b""), "47"),
    ],
)
def test_what_is_gone_is_told(tmp_path, name, before, after, says):
    (told,) = lost(tmp_path, name, before, after)
    assert says in told


@pytest.mark.parametrize(
    ("after", "is_noted"),
    [
        (CHANGELOG.replace(b"## 1.4.0", b"## 1.4.1\n  * A.\n\n## 1.4.0"), True),
        (CHANGELOG.replace(b"* `save`", b"  * `save`"), False),
        (CHANGELOG.replace(b"\n\n", b"\n"), False),
        (None, False),
    ],
    ids=["new entry", "indented anew", "closed up", "removed"],
)
def test_only_new_words_note_a_change(tmp_path, after, is_noted):
    before = CHANGELOG.replace(b"* Tags", b"  * Tags")
    if after is not None:
        after = after.replace(b"* Tags", b"  * Tags")
    issue, patch = changed(tmp_path, "CHANGELOG.md", before, after, noted=["CHANGELOG.md"])
    assert (not issue.not_noted(patch)) == is_noted
