"""Folders that point to programs and files of this machine, where no import has written them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym import catalogue
from agentgym.errors import TaskError
from agentgym.task.load import load_folder

TAU2 = """
schema_version = "agentgym.tau2/1"
id = "tau2-library/lend-v1"
checkout = "{checkout}"
python = "{python}"
domain = "library"
task = "lend"
retrieval = "golden_retrieval"
"""
OSWORLD = """
schema_version = "agentgym.osworld/1"
id = "osworld/os-1-v1"
checkout = "{checkout}"
domain = "os"
task = "1"
files = "/"
env = "desktop"
"""


def pointer(folder: Path, text: str) -> Path:
    program, checkout = folder / "program", folder / "checkout"
    for made in ("src/tau2/domains/library", "data/tau2/domains", "evaluation_examples/examples"):
        (checkout / made).mkdir(parents=True)
    (checkout / "src/tau2/domains/library/environment.py").touch()
    program.write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    program.chmod(0o755)
    (task := folder / "tasks" / "suite" / "task").mkdir(parents=True)
    (task / "task.toml").write_text(text.format(checkout=checkout, python=program))
    return task


@pytest.mark.parametrize("text", [TAU2, OSWORLD], ids=["tau2", "osworld"])
def test_a_strangers_folder_runs_and_reads_nothing(tmp_path: Path, text: str) -> None:
    task = pointer(tmp_path, text)
    with pytest.raises(TaskError, match="followed only where an import has written it"):
        load_folder(task)
    assert not (tmp_path / "ran").exists()


def test_nor_does_one_deeper_in_the_imported_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    # Files of a stranger's repository are there, below the folder of an instance.
    task = pointer(catalogue.imported_dir() / "tasks" / "swebench" / "one" / "environment", TAU2)
    with pytest.raises(TaskError, match="followed only where an import has written it"):
        load_folder(task)
    away = tmp_path / "away"
    away.symlink_to(task)
    (catalogue.imported_dir() / "tasks" / "other").mkdir()
    (linked := catalogue.imported_dir() / "tasks" / "other" / "task").symlink_to(tmp_path / "away")
    with pytest.raises(TaskError, match="followed only where an import has written it"):
        load_folder(linked)
    assert not list(tmp_path.rglob("ran"))


def test_an_imported_one_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    task = pointer(catalogue.imported_dir(), TAU2)
    with pytest.raises(TaskError, match="cannot be imported"):  # by that program, which ran
        load_folder(task)
    assert (catalogue.imported_dir() / "ran").exists()
