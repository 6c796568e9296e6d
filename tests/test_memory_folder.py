"""Temporary folders lie in memory if it is large enough and no other place was chosen."""

import os
import tempfile

import memory_folder
import pytest


@pytest.fixture
def roomy(monkeypatch, tmp_path):
    monkeypatch.setattr(memory_folder, "SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(memory_folder, "has_room", lambda: True)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", "")  # now its absence is restored, too
    monkeypatch.delenv("TMPDIR")
    return tmp_path


def test_it_is_used_where_it_has_room(roomy, monkeypatch):
    memory_folder.use_memory()
    assert tempfile.gettempdir() == str(roomy / f"agentgym-tests-{os.geteuid()}")


def test_a_folder_that_was_chosen_stays(roomy, monkeypatch, tmp_path_factory):
    chosen = str(tmp_path_factory.mktemp("chosen"))
    monkeypatch.setenv("TMPDIR", chosen)
    memory_folder.use_memory()
    assert tempfile.gettempdir() == chosen


def test_a_link_that_somebody_laid_there_is_not_followed(roomy, monkeypatch, tmp_path_factory):
    target = tmp_path_factory.mktemp("target")
    (roomy / f"agentgym-tests-{os.geteuid()}").symlink_to(target)
    memory_folder.use_memory()
    assert "TMPDIR" not in os.environ


def test_a_disk_or_too_little_memory_is_no_room(monkeypatch, tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text("disk /dev/shm ext4 rw 0 0\n")
    monkeypatch.setattr(memory_folder, "FREE", 0)
    monkeypatch.setattr(memory_folder, "AVAILABLE", 0)
    assert not memory_folder.has_room(mounts)
    mounts.write_text("tmpfs /dev/shm tmpfs rw,nosuid,noexec 0 0\n")
    assert not memory_folder.has_room(mounts)
    mounts.write_text("tmpfs /dev/shm tmpfs rw 0 0\n")
    assert memory_folder.has_room(mounts)
    monkeypatch.setattr(memory_folder, "AVAILABLE", 1 << 61)
    assert not memory_folder.has_room(mounts)
    monkeypatch.setattr(memory_folder, "AVAILABLE", 0)
    monkeypatch.setattr(memory_folder, "limit_of_cgroup", lambda: -1)
    assert not memory_folder.has_room(mounts)
    monkeypatch.undo()
    monkeypatch.setattr(memory_folder, "AVAILABLE", 0)
    monkeypatch.setattr(memory_folder, "FREE", 1 << 61)
    assert not memory_folder.has_room(mounts)
