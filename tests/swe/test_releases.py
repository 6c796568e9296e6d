"""Release pairs: what is downloaded is what is pinned, and becomes a task of the native suite."""

import hashlib
import io
import json
import tarfile

import pytest
from typer.testing import CliRunner

from agentgym import catalogue
from agentgym.cli.app import app
from agentgym.errors import ConfigError, NotFoundError, TaskError
from agentgym.swe.native import Issue
from agentgym.swe.releases.download import index_url, source_archive
from agentgym.swe.releases.pair import ReleasePair, Source, bundled_pairs
from agentgym.swe.releases.task_folder import read_source, write_release_task
from agentgym.swe.repair import repair_of
from agentgym.task.load import load_task

BASE = {
    "setup.cfg": "[metadata]\nname = sums\n",
    "sums.py": "def add(a, b):\n    return a - b\n",
    "gone.py": "x = 1\n",
    "tests/test_sums.py": "def test_nothing():\n    pass\n",
    "PKG-INFO": "Name: sums\n",
    "sums.egg-info/SOURCES.txt": "sums.py\n",
    "tests/__pycache__/test_sums.pyc": "\0",
}
FIXED = {
    **{name: text for name, text in BASE.items() if name != "gone.py"},
    "sums.py": "def add(a, b):\n    return a + b\n",
    "tests/test_sums.py": "from sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "PKG-INFO": "Name: sums 2\n",
}


def packed(files, *, top="sums-1", add=()):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        for member in add:
            archive.addfile(member)
    return stream.getvalue()


def source(version, data):
    digest = hashlib.sha256(data).hexdigest()
    return Source(version=version, file=f"sums-{version}.tar.gz", sha256=digest)


ARCHIVES = {"1": packed(BASE), "2": packed(FIXED, top="sums-2")}
PAIR = ReleasePair(
    schema_version="agentgym.release-pair/1",
    package="sums",
    title='Sums are "wrong"',
    difficulty="easy",
    issue="add(1, 2) is -1, and that is not what anybody would expect.",
    base=source("1", ARCHIVES["1"]),
    fixed=source("2", ARCHIVES["2"]),
    tests=("tests/test_sums.py",),
    config="setup.cfg",
    fail_to_pass=("tests/test_sums.py::test_add",),
)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")


class Index:
    """An index that offers archives, and counts what it is asked."""

    def __init__(self, archives=ARCHIVES):
        self.archives, self.asked = archives, []

    def __call__(self, url, accept, most):
        self.asked.append(url)
        if url.endswith("/simple/sums/"):
            names = [f"sums-{version}.tar.gz" for version in self.archives]
            files = [{"filename": name, "url": f"../../files/{name}"} for name in names]
            return json.dumps({"files": files}).encode()
        assert url.startswith("https://index.example/files/")
        return self.archives[url.rpartition("-")[2].removesuffix(".tar.gz")]


def test_a_release_is_downloaded_once():
    index = Index()
    for _ in range(2):
        assert source_archive("sums", PAIR.base, fetch=index) == ARCHIVES["1"]
    assert index.asked == [
        "https://index.example/simple/sums/",
        "https://index.example/files/sums-1.tar.gz",
    ]


def test_another_archive_than_the_pinned_one_is_refused_and_not_kept(tmp_path):
    index = Index({"1": ARCHIVES["2"]})
    for _ in range(2):
        with pytest.raises(TaskError, match="the definition pins"):
            source_archive("sums", PAIR.base, fetch=index)
    assert len(index.asked) == 4


def test_a_damaged_copy_in_the_cache_is_not_used():
    source_archive("sums", PAIR.base, fetch=Index())
    (kept,) = (catalogue.cache_dir() / "releases").iterdir()
    kept.write_bytes(b"other")
    assert source_archive("sums", PAIR.base, fetch=Index()) == ARCHIVES["1"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (OSError("no route"), r"sums 1: the package index cannot be reached \(no route\)"),
        (b"<html>", "gave no list of files"),
        (b"[]", "gave no list of files"),
        (b'{"files": [{}]}', "gave no list of files"),
        (b'{"files": []}', "does not have sums-1.tar.gz"),
    ],
)
def test_an_index_that_is_away_or_odd_is_told(answer, says):
    def fetch(url, accept, most):
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(TaskError, match=says):
        source_archive("sums", PAIR.base, fetch=fetch)


def test_without_a_network_the_command_says_so(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(TaskError, match="cannot be reached"):
        CliRunner().invoke(app, ["task", "releases"], catch_exceptions=False)
    with pytest.raises(NotFoundError, match="no release pair named 'nothing'"):
        CliRunner().invoke(app, ["task", "releases", "nothing"], catch_exceptions=False)


def test_the_index_is_that_of_pip(monkeypatch):
    assert index_url() == "https://index.example/simple"
    monkeypatch.delenv("PIP_INDEX_URL")
    try:
        assert index_url().startswith("https://")
    except ConfigError as error:
        assert "PIP_INDEX_URL" in str(error)


def test_a_pair_becomes_a_task(tmp_path):
    for _ in range(2):
        folder = write_release_task(tmp_path / "swe-releases", "sums-add", PAIR, fetch=Index())
    assert [path.name for path in folder.parent.iterdir()] == ["sums-add"]
    task = load_task(folder)
    assert task.id == "swe-releases/sums-add-v1"
    assert task.manifest.title == 'Sums are "wrong"'
    base = {path.name for path in (folder / "setup/repo").rglob("*") if path.is_file()}
    assert base == {"setup.cfg", "sums.py", "gone.py", "test_sums.py"}
    issue = Issue(folder / "checks")
    assert issue.manifest.prints
    assert issue.manifest.redesigned == ("*",)
    assert issue.hidden["tests/test_sums.py"].data.decode() == FIXED["tests/test_sums.py"]
    repair = repair_of(task)
    assert repair.after == {"sums.py": FIXED["sums.py"], "gone.py": None}
    shown = b"".join(path.read_bytes() for path in (folder / "setup").rglob("*.py"))
    assert b"a + b" not in shown and b"test_add" not in shown


def test_documents_that_the_authors_wrote_anew_may_be_written_anew(tmp_path):
    """The gold patch would be refused otherwise."""
    archives = {
        "1": packed(BASE | {"NEWS.md": "# News\n\n- One thing.\n", "GUIDE.md": "How to add.\n"}),
        "2": packed(
            FIXED | {"NEWS.md": "# News\n\n- All.\n", "GUIDE.md": "How to add.\n\nMore.\n"}
        ),
    }
    sources = {
        name: source(version, archives[version])
        for name, version in (("base", "1"), ("fixed", "2"))
    }
    folder = write_release_task(
        tmp_path, "sums-add", PAIR.model_copy(update=sources), fetch=Index(archives)
    )
    assert Issue(folder / "checks").manifest.rewritten == ("NEWS.md",)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tests": ("tests/test_none.py",)}, "the release has no tests/test_none.py"),
        ({"config": "tox.ini"}, "the release has no tox.ini"),
    ],
)
def test_a_definition_that_does_not_fit_its_releases(tmp_path, change, says):
    with pytest.raises(TaskError, match=says):
        pair = PAIR.model_copy(update=change)
        write_release_task(tmp_path / "s", "sums", pair, fetch=Index())
    assert not list((tmp_path / "s").glob("*")) if (tmp_path / "s").exists() else True


def link(name, target, kind=tarfile.SYMTYPE):
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_links_devices_and_files_of_git_are_left_out():
    odd = [link("s/out", "/etc/passwd"), link("s/hard", "s/a", tarfile.LNKTYPE)]
    odd.append(link("s/dev", "", tarfile.CHRTYPE))
    files = {"a": "1", ".git/hooks/x": "1", "b/.GIT": "1", ".gitignore": "x"}
    assert read_source(packed(files, top="s", add=odd), "x").keys() == {"a", ".gitignore"}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "cannot be read"),
        (b"\x1f\x8b\x08no", "cannot be read"),
        (packed({}), "holds no files"),
        (packed({"../../up": "1"}), "cannot be read as a source release"),
        (packed({f"f{n}": "" for n in range(5001)}), "too large"),
        (packed({"big": "0" * (9 << 20)}), "too large"),
    ],
    # An archive holds the time at which it was packed; workers must agree on names.
    ids=["empty", "not gzip", "no files", "outside", "many files", "a large file"],
)
def test_an_archive_that_is_unsafe_or_broken(data, says):
    with pytest.raises(TaskError, match=says):
        read_source(data, "x.tar.gz")


def test_the_bundled_definitions_hold_an_issue_of_our_own_and_lists():
    pairs = bundled_pairs()
    assert len(pairs) == 12
    for name, pair in pairs.items():
        assert pair.fail_to_pass and pair.pass_to_pass, name
        assert not set(pair.fail_to_pass) & set(pair.pass_to_pass), name
        files = {test.partition("::")[0] for test in (*pair.fail_to_pass, *pair.pass_to_pass)}
        assert files <= set(pair.tests), name
        assert pair.base.version != pair.fixed.version
        assert name.startswith(pair.package.replace("_", "-"))
