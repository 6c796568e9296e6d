"""Where agentgym or a task lies below the host's /usr, guests find an empty folder there."""

import sys
from pathlib import Path

import pytest

import agentgym
from agentgym import catalogue
from agentgym.records import Recipe
from agentgym.sandbox import hidden
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.sandbox.hidden import hidden_folders, outermost
from agentgym.task.load import load_folder

PROBLEMS = BubblewrapProvider().problems()
# Folders that every Debian has, in the place of what is not there.
SECRET, INNER = "/usr/share/doc", "/usr/share/doc/bash"
LOOK = f"ls -A {SECRET}; echo --; ls /usr/share; touch {SECRET}/x; mkdir {SECRET}/y; ls {INNER}"


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setattr(
        hidden, "private_folders", lambda: (Path(SECRET), Path(INNER), Path("/etc"))
    )


async def look(provider):
    sandbox = await provider.start(Recipe("host"))
    try:
        return await sandbox.exec(["sh", "-c", LOOK])
    finally:
        await sandbox.close()
        await provider.close()


def check(result):
    assert result.stdout.startswith(b"--\n") and b"\ndoc\n" in result.stdout
    assert result.stderr.count(b"Read-only file system") == 2, result.stderr
    assert b"No such file" in result.stderr


@pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")
async def test_a_guest_finds_an_empty_folder(secret, tmp_path):
    assert any(Path(SECRET).iterdir()) and Path(INNER).is_dir()
    check(await look(BubblewrapProvider(tmp_path)))


@pytest.mark.docker
async def test_a_guest_of_docker_finds_an_empty_folder(secret):
    check(await look(DockerProvider()))


def test_what_is_hidden(monkeypatch, tmp_path):
    monkeypatch.setenv("AGENTGYM_PATH", "/usr/share")
    monkeypatch.setenv("AGENTGYM_CACHE", "/usr/lib/agentgym-cache")
    monkeypatch.chdir(tmp_path)
    private = {str(folder) for folder in catalogue.private_folders()}
    package = str(Path(agentgym.__file__).resolve().parent)
    assert {package, "/usr/share/tasks", "/usr/share/verifiers", "/usr/share/envs"} <= private
    assert "/usr/lib/agentgym-cache" in private and "/usr/share" not in private
    assert sys.prefix == sys.base_prefix or sys.prefix in private
    # The folder of a task that was named by its path is hidden once it is loaded.
    monkeypatch.setattr(catalogue, "_named", set())
    with pytest.raises(agentgym.errors.TaskError):
        load_folder(Path(INNER))
    assert INNER in hidden_folders()


def test_only_what_guests_would_see_is_hidden():
    assert outermost(["/usr", "/usr/local/lib", "/usrx", "/tmp", "/usr/share/nothing-here"]) == ()
    assert outermost([INNER, SECRET]) == (SECRET,)
