"""A folder of results from a stranger: nothing elsewhere is read, written or waited for."""

import os

import pytest

from agentgym.errors import RecordError
from agentgym.record.result_files import ResultFiles


def test_lines_grow_and_a_cut_one_is_taken_off(tmp_path):
    files = ResultFiles(tmp_path / "new" / "out")
    assert files.lines("a.jsonl") == []
    files.add("a.jsonl", "1")
    files.add("a.jsonl", "\udcff")
    path = tmp_path / "new" / "out" / "a.jsonl"
    assert files.lines("a.jsonl") == ["1", "\\udcff"]
    path.write_bytes(path.read_bytes() + b"cut")
    assert ResultFiles(path.parent).lines("a.jsonl") == ["1", "\\udcff"]
    assert b"cut" not in path.read_bytes()


@pytest.mark.parametrize("kind", ["link", "hard link", "FIFO", "folder", "link to nothing"])
def test_what_is_no_regular_file_is_refused_or_replaced(tmp_path, kind):
    victim, out = tmp_path / "victim", tmp_path / "out"
    victim.write_text("mine\ncut")
    out.mkdir()
    made = {
        "link": lambda path: path.symlink_to(victim),
        "hard link": lambda path: path.hardlink_to(victim),
        "FIFO": os.mkfifo,
        "folder": os.mkdir,
        "link to nothing": lambda path: path.symlink_to(tmp_path / "new"),
    }
    for name in ("lines.jsonl", "report.json"):
        made[kind](out / name)
    files = ResultFiles(out)
    with pytest.raises(RecordError, match="is a|linked from elsewhere"):
        files.lines("lines.jsonl")
    with pytest.raises(RecordError, match="is a|linked from elsewhere"):
        files.add("lines.jsonl", "x")
    if kind != "folder":
        files.replace("report.json", "{}")
        assert (out / "report.json").read_text() == "{}"
    assert victim.read_text() == "mine\ncut"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["tasks", "tasks/suite"])
def test_a_folder_that_is_a_link_is_not_entered(tmp_path, name):
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    (out / name).parent.mkdir(parents=True)
    (out / name).symlink_to(elsewhere)
    files = ResultFiles(out)
    with pytest.raises(RecordError, match="is a symbolic link"):
        files.make("tasks/suite/deep")
    with pytest.raises(RecordError, match="is a symbolic link"):
        files.replace("tasks/suite/log.txt", "x")
    assert list(elsewhere.iterdir()) == []
    assert files.make("other/suite").is_dir() and files.make("other/suite").is_dir()
