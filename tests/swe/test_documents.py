"""Checks of what no fix owns (documents, configuration, tests, history), and of wanted lines."""

import pytest

from agentgym.records import Change, ChangeKind
from agentgym.swe.belongings import lost_history, lost_statements, lost_words
from agentgym.swe.native import Issue
from agentgym.swe.patch import compare_trees
from agentgym.verify.memory_evidence import File, MemoryTree

README = b"""# shelf

A cache with a lifetime for each
entry. An entry that was not put
again before its end is gone, and
it counts as expired.
"""
PROMISE = b"""Who subscribes later gets the retained messages that match, in the order in which
they were published.
"""
LONG = README + b"It says what it keeps.\n" * 60
CHANGELOG = b"""# Changelog

## 1.4.0 (2026-01-18)

* Tags, and `drop_tag` (#52).
* `save` and `load` (#47).
"""


PYPROJECT = b'[project]\nname = "shelf"\nversion = "1.4.0"\n'


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
    _, patch = changed(*arguments)
    return list(lost_words(patch).values())


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("README.md", README, b"# shelf\n\n" + b" ".join(README.split()[2:]) + b"\n"),
        (
            "README.md",
            README,
            README.replace(b"An entry that was not put\nagain", b"An entry that was not put"),
        ),
        ("README.md", LONG + PROMISE, LONG + PROMISE[: PROMISE.index(b", in")]),
        ("README.md", LONG + PROMISE, LONG + b"Retained messages come in order.\n"),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace(b"1.4.0", b"1.4.1")),
        (".gitignore", b"__pycache__/\n", b"__pycache__/\n.venv/\n"),
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b"* ", b"- ")),
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b"(#52).", b"(#52), which are sorted.")),
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b"## 1.4.0", b"## 1.4.1\n* A.\n\n## 1.4.0")),
    ],
    ids=[
        "wrapped",
        "shorter",
        "half",
        "reworded",
        "version",
        "ignored",
        "bullets",
        "continued",
        "new entry",
    ],
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
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b"1.4.0", b"1.3.9"), "1.4.0"),
        ("CHANGELOG.md", CHANGELOG, CHANGELOG.replace(b"2026-01-18", b"2025-01-18"), "2026-01-18"),
        ("README.md", README, README[: README.index(b"again")], "a part of README.md is gone"),
        ("README.md", LONG + PROMISE, LONG, "a part of README.md is gone"),
        ("pyproject.toml", PYPROJECT, b"", "most of pyproject.toml is gone"),
        (".gitignore", b"__pycache__/\n.venv/\n", None, "most of .gitignore is gone"),
    ],
)
def test_what_is_gone_is_told(tmp_path, name, before, after, says):
    (told,) = lost(tmp_path, name, before, after)
    assert says in told


ORDERS = b"""Subscribers with equal priorities are called in the order in which they
subscribed, whatever their patterns are. An empty variable of another kind is a mistake.
"""


@pytest.mark.parametrize(
    ("after", "is_right"),
    [
        (b" ".join(ORDERS.split()) + b"\n", True),
        (ORDERS + b"Names play no part.\n", True),
        (ORDERS.replace(b"subscribed,", b"subscribed (the last time),"), True),
        (ORDERS.replace(b"subscribed,", b"subscribe,"), True),
        (ORDERS.replace(b"order in which they\nsubscribed", b"order of their names"), False),
        (ORDERS.replace(b"is a mistake", b"counts as not set"), False),
        (ORDERS + ORDERS.replace(b"\n", b" ")[::-1], True),
        (ORDERS[: ORDERS.index(b" An empty")], False),
        (None, False),
    ],
    ids=["wrapped", "longer", "inside", "word", "order", "turned", "beside", "cut", "deleted"],
)
def test_a_document_that_is_right_keeps_its_statements(tmp_path, after, is_right):
    _, patch = changed(tmp_path, "README.md", ORDERS, after)
    assert (not lost_statements(patch, ["README.md"])) == is_right


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


@pytest.mark.parametrize(
    ("new", "is_described"),
    [
        (b"Tags are kept by `save`.\n", True),
        (b"SAVE keeps\ntags.\n", True),
        (b"Hello.\n", False),
        (b"Tags.\n", False),
        (b"", False),
    ],
)
def test_a_description_names_what_it_describes(tmp_path, new, is_described):
    issue, patch = changed(tmp_path, "README.md", README, README + new)
    wanted = {"README.md": (r"\btags\b", r"\bsave\b")}
    issue.manifest = issue.manifest.model_copy(update={"described": wanted})
    assert (not issue.not_noted(patch)) == is_described


GIT = {
    "/srv/shelf/.git/HEAD": File(b"ref: refs/heads/main\n"),
    "/srv/shelf/.git/objects/aa/1": File(b"1"),
    "/srv/shelf/.git/objects/bb/2": File(b"2"),
}


@pytest.mark.parametrize(
    ("left", "is_lost"),
    [
        (GIT, False),
        (GIT | {"/srv/shelf/.git/objects/cc/3": File(b"3")}, False),
        (
            {"/srv/shelf/.git/HEAD": File(b"x"), "/srv/shelf/.git/objects/pack/p.pack": File(b"x")},
            False,
        ),
        ({}, True),
        ({"/srv/shelf/.git": File(b"")}, True),
        ({"/srv/shelf/.git/HEAD": File(b"x")}, True),
        (dict(list(GIT.items())[:2]), True),
    ],
    ids=["as it was", "a commit", "packed", "removed", "a file", "no objects", "an object less"],
)
def test_the_history_is_kept(left, is_lost):
    code = {"/srv/shelf/shelf.py": File(b"")}
    trees = MemoryTree(code | GIT), MemoryTree(code | left)
    assert bool(lost_history(*trees, "/srv/shelf")) is is_lost


@pytest.mark.parametrize(
    ("left", "is_lost"),
    [
        (("tests/test_a.py",), False),
        (("tests/unit/test_c.py",), False),
        (("tests/conftest.py",), True),
        ((), True),
    ],
)
def test_some_tests_are_left(tmp_path, left, is_lost):
    issue, _ = changed(tmp_path, "README.md", README, README)
    had = {
        f"/srv/shelf/{name}": File(b"")
        for name in ("shelf.py", "tests/test_a.py", "tests/b_test.py")
    }
    code = {"/srv/shelf/shelf.py": File(b"")}
    now = code | {f"/srv/shelf/{name}": File(b"") for name in left}
    changes = [
        Change(path, ChangeKind.MODIFIED)
        for path in sorted((had.keys() | now.keys()) - code.keys())
    ]
    trees = MemoryTree(had), MemoryTree(now)
    told = issue.lost(*trees, compare_trees(*trees, "/srv/shelf", changes))
    assert told == ["all tests are gone"] * is_lost


MODULES = b"""A shelf drops the oldest entry.

| module | holds |
|---|---|
| `shelf/cache.py` | the shelf, bounded by a number of entries |
| `shelf/tags.py` | the index from tags to keys |
"""


@pytest.mark.parametrize(
    ("after", "moved", "is_right"),
    [
        (MODULES.replace(b"the index from tags to keys", b"which entries carry it"), "", True),
        (MODULES.replace(b"tags.py` | the index from tags", b"labels.py` | labels"), "yes", True),
        (MODULES.replace(b"the index from tags to keys", b""), "", True),
        (MODULES[: MODULES.index(b"| `shelf/tags.py")], "yes", True),
        (MODULES[: MODULES.index(b"| `shelf/tags.py")], "", False),
        (MODULES.replace(b", bounded by a number of entries", b""), "", False),
        (MODULES.replace(b"drops the oldest entry", b"keeps it all"), "yes", False),
    ],
    ids=["told anew", "moved", "emptied", "gone", "cut", "of another file", "outside"],
)
def test_rows_of_changed_files_may_change(after, moved, is_right):
    root, name = "/srv/shelf", "labels" if moved else "tags"
    old = {"README.md": MODULES, "shelf/tags.py": b"tags = {}\n"}
    new = {"README.md": after, f"shelf/{name}.py": b"labels = {}\n"}
    trees = [
        MemoryTree({f"{root}/{path}": File(data) for path, data in files.items()})
        for files in (old, new)
    ]
    changes = [Change(f"{root}/{path}", ChangeKind.MODIFIED) for path in sorted({*old, *new})]
    patch = compare_trees(*trees, root, changes)
    assert (not lost_statements(patch, ["README.md"])) == is_right
