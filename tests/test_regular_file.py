"""Files of folders that strangers wrote: no FIFO blocks a reader, no device fills its memory."""

import os
from pathlib import Path

import pytest
from small_task import write_task

from agentgym import catalogue
from agentgym.errors import AgentGymError, TaskError
from agentgym.manifest import parse_toml
from agentgym.modules import execute
from agentgym.regular_file import digest_regular, read_regular
from agentgym.task.load import find_task

ODD = {
    "a FIFO": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
    "holes": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
}


@pytest.fixture(params=ODD.values(), ids=ODD)
def odd(request, tmp_path):
    """Puts something odd in the place of a file: `odd(path)`."""

    def put(path):
        path.unlink(missing_ok=True)
        request.param(path)
        return path

    return put


def test_a_file_is_read_through_links_and_up_to_its_bound(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"12345")
    link.symlink_to(file)
    assert read_regular(link, 5) == b"12345"
    assert digest_regular(link)[:8] == "5994471a"
    with pytest.raises(OSError, match="more than the 0 MiB"):
        read_regular(file, 4)


def test_what_is_no_regular_file_is_refused_at_once(odd, tmp_path):
    path = odd(tmp_path / "file")
    for read in (read_regular, digest_regular):
        with pytest.raises(OSError, match="expected a regular file|Is a directory|more than the"):
            read(path)


@pytest.mark.parametrize("name", ["task.toml", "instruction.md"])
def test_a_task_with_such_a_file_is_refused_or_not_there(odd, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    odd(write_task(tmp_path, "hello") / name)
    assert catalogue.folders("tasks")
    with pytest.raises(AgentGymError, match="hello"):
        find_task("demo/hello-v1")


def test_such_a_file_in_the_setup_is_refused(odd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = write_task(tmp_path, "hello", {"setup/setup.sh": "true\n"})
    path = odd(folder / "setup/data")
    instance = find_task("demo/hello-v1").instance(0)
    if path.is_dir() or path.is_symlink():  # copied as it is; a link does not leave the sandbox
        assert instance.fingerprint()
    else:
        with pytest.raises(TaskError, match="setup/data"):
            instance.fingerprint()


def test_such_a_module_is_not_executed(odd, tmp_path):
    with pytest.raises(ValueError, match="cannot be loaded"):
        execute(odd(tmp_path / "checks.py"), ValueError)


def test_a_key_of_very_many_parts_is_refused_before_it_is_parsed():
    # tomllib would need 600 MB for these 25 kB.
    with pytest.raises(ValueError, match="60 parts"):
        parse_toml(".".join(["a"] * 12_500) + " = 1")
    with pytest.raises(ValueError, match="characters"):
        parse_toml("a = 1\n" + "#" * (1 << 20))
