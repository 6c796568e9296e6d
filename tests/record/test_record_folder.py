"""A run folder from a stranger: what is opened in it, and what is refused."""

import os
import sqlite3
import zlib
from pathlib import Path

import pytest

from agentgym.errors import RecordError
from agentgym.eval.results import whole_file
from agentgym.record.blobs import BlobStore
from agentgym.record.folder import RunFolder
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision, Observation, Step

SECRET = b"ssh-ed25519 AAAA the user's own key\n"
LONG = "x" * 20_000


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "authorized_keys"
    path.write_bytes(SECRET)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with one step, whose observation is a blob."""
    folder = tmp_path / "run"
    store = RunStore.create(folder, {}, [EpisodePlan("demo/x-v1", 0, 0, "noop")])
    recorder = store.begin(
        1, params={}, instruction="", sandbox="x", reset_s=0, first=Observation("")
    )
    recorder.step(Step(0, Decision(Action("bash", {})), Observation(LONG), 0.1))
    store.close()
    return folder


def open_and_close(folder: Path, *, readonly: bool) -> None:
    store = RunStore.open(folder, readonly=readonly)
    store.steps(1)
    store.close()


def replaced_by(kind: str, path: Path, victim: Path) -> None:
    path.unlink(missing_ok=True)
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "dangling link":
        path.symlink_to(victim.with_name("new"))
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.hardlink_to(victim)


WORDS = {
    "link": "a symbolic link",
    "dangling link": "a symbolic link",
    "fifo": "a FIFO",
    "folder": "a folder",
    "second name": "is also linked from elsewhere",
}


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("name", ["run.db", "run.db-wal", "run.db-shm", "run.lock"])
def test_no_writer_opens_what_is_no_file_of_the_folder(run, victim, name, kind):
    replaced_by(kind, run / name, victim)
    with pytest.raises(RecordError, match=rf"run/{name}.*{WORDS[kind]}"):
        open_and_close(run, readonly=False)
    assert victim.read_bytes() == SECRET
    assert sorted(p.name for p in victim.parent.iterdir()) == ["authorized_keys", "run"]


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
@pytest.mark.parametrize("name", ["run.db", "run.db-wal", "run.db-shm"])
def test_no_reader_opens_it_either(run, victim, name, kind):
    replaced_by(kind, run / name, victim)
    with pytest.raises(RecordError, match=rf"run/{name} is {WORDS[kind]}"):
        open_and_close(run, readonly=True)


@pytest.mark.parametrize("readonly", [True, False])
def test_a_rollback_journal_is_refused_for_sqlite_may_remove_files_that_it_names(run, readonly):
    (run / "run.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
    with pytest.raises(RecordError, match="run.db-journal belongs to no run"):
        open_and_close(run, readonly=readonly)


def test_a_run_is_in_wal_mode_from_its_first_byte(run):
    # Else the first writer would leave a rollback journal if it was killed at the wrong moment.
    assert (run / "run.db").read_bytes()[18:20] == b"\2\2"


def test_a_new_run_takes_nothing_over_from_what_lay_in_its_folder(tmp_path, victim):
    folder = tmp_path / "new"
    folder.mkdir()
    for name in ("run.db.part", "run.db.part-wal", "run.db-wal", "run.db-shm", "run.journal"):
        (folder / name).symlink_to(victim)
    RunStore.create(folder, {}, [EpisodePlan("demo/x-v1", 0, 0, "noop")]).close()
    assert victim.read_bytes() == SECRET


# --- blobs ---------------------------------------------------------------------------------


def test_a_blob_is_not_read_through_a_link(run, victim, tmp_path):
    (blob,) = (path for path in (run / "blobs").rglob("*") if path.is_file())
    copy = tmp_path / "copy"
    blob.rename(copy)
    blob.symlink_to(copy)
    with pytest.raises(RecordError, match=f"{blob.name} is a symbolic link"):
        BlobStore(run / "blobs").get(blob.name)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_no_folder_of_blobs_may_be_a_link(run, tmp_path, depth):
    (blob,) = (path for path in (run / "blobs").rglob("*") if path.is_file())
    content = zlib.decompress(blob.read_bytes())
    folder = [run / "blobs", blob.parent.parent, blob.parent][depth]
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").rglob("*"))
    with pytest.raises(RecordError, match=f"{folder.name} is a symbolic link"):
        BlobStore(run / "blobs").get(blob.name)
    with pytest.raises(RecordError, match=f"{folder.name} is a symbolic link"):
        BlobStore(run / "blobs").put(content)
    assert sorted((tmp_path / "elsewhere").rglob("*")) == before


def test_a_draft_of_a_killed_writer_goes_and_its_target_stays(run, victim):
    (run / "blobs" / ".draft").symlink_to(victim)
    BlobStore(run / "blobs").put(b"another")
    assert not (run / "blobs" / ".draft").is_symlink()
    assert victim.read_bytes() == SECRET


# --- files that are replaced ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["results.json", "results.json.part"])
def test_what_is_made_from_the_record_replaces_a_link_and_leaves_its_target(run, victim, name):
    (run / name).symlink_to(victim)
    with whole_file(run / "results.json") as file:
        file.write("{}")
    assert (run / "results.json").read_text() == "{}"
    assert not (run / "results.json").is_symlink()
    assert victim.read_bytes() == SECRET


@pytest.mark.parametrize("name", ["results.json", "report.html"])
def test_a_full_disk_is_told_and_leaves_the_old_file(tmp_path, name):
    (tmp_path / name).write_text("old")
    full = os.open("/dev/full", os.O_WRONLY)
    with (
        pytest.raises(RecordError, match=rf"{name} cannot be written: No space left on device"),
        whole_file(tmp_path / name) as file,
    ):
        os.dup2(full, file.fileno())
        file.write("new")
    os.close(full)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"


def test_a_file_larger_than_it_can_be_is_refused_before_it_is_in_memory(tmp_path):
    with (tmp_path / "run.journal").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RecordError, match="run.journal is larger than the 1000 bytes"):
        RunFolder(tmp_path).read("run.journal", 1000)


def test_the_path_of_the_folder_itself_may_be_a_link(run, tmp_path):
    (tmp_path / "latest").symlink_to(run)
    open_and_close(tmp_path / "latest", readonly=False)


def test_a_file_in_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="is not a run folder"):
        RunStore.open(tmp_path / "file")


def test_sqlite_agrees_that_the_record_is_whole(run):
    with sqlite3.connect(run / "run.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
