"""What the soak test looks for is found where it is."""

import fcntl
import os
import socket
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from remains import Traces, belongings, newer, wait_until


@pytest.fixture
def home(tmp_path):
    for folder in ("cache/sandbox/l", "cache/sandbox/live", "run/blobs", "tmp"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def process(home, undo):
    command = ["sleep", "60"]
    undo.callback(started(command, undo, env={"AGENTGYM_CACHE": f"{home}/cache"}).kill)


def mount(home, undo):
    script = f"mount -t tmpfs x {home}/tmp && echo mounted && exec sleep 60"
    namespace = started(["unshare", "--mount", "sh", "-c", script], undo)
    undo.callback(namespace.kill)
    assert namespace.stdout.readline() == b"mounted\n"


def unix_socket(home, undo):
    listener = undo.enter_context(socket.socket(socket.AF_UNIX))
    listener.bind(str(home / "door"))


def lock(home, undo):
    fd = os.open(home / "run/run.lock", os.O_CREAT)
    undo.callback(os.close, fd)
    fcntl.flock(fd, fcntl.LOCK_EX)


def temporary_folder(home, undo):
    (home / "tmp/room").mkdir()


def half_a_blob(home, undo):
    (home / "run/blobs/.123-0").write_bytes(b"ha")


def claim(home, undo):
    (home / "cache/sandbox/live/1-abcdef").mkdir()


def layer(home, undo):
    (home / "cache/sandbox/l/0123456789ab").mkdir()


def started(command, undo, **options):
    return undo.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, **options))


PLANTS = {
    process: {"processes"},
    mount: {"mounts"},
    unix_socket: {"sockets"},
    lock: {"locks"},
    temporary_folder: {"files"},
    half_a_blob: {"files"},
    claim: {"files"},
    layer: {"layers"},
}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_what_is_left_is_found(plant, home):
    if plant is mount and os.geteuid() != 0:
        pytest.skip("only root may mount")
    traces = Traces(home)
    assert traces.left() == {}
    with ExitStack() as undo:
        plant(home, undo)
        assert wait_until(lambda: set(traces.left()) == PLANTS[plant], 5), traces.left()


def test_a_control_group_is_found(home):
    traces = Traces(home)
    hierarchy = next(iter(Path("/sys/fs/cgroup").glob("memory")), Path("/sys/fs/cgroup"))
    group = hierarchy / "agentgym" / f"{os.getpid()}-planted"
    try:
        group.mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        assert set(traces.left()) == {"control groups"}
    finally:
        group.rmdir()
        with suppress(OSError):
            group.parent.rmdir()


def test_a_descriptor_and_a_child_are_found():
    before = belongings()
    with open(os.devnull) as file, subprocess.Popen(["sleep", "60"]) as child:
        found, opened = newer(before), f"{file.fileno()} {os.devnull}"
        child.kill()
    assert found["descriptors"] == [opened]
    assert str(child.pid) in found["children"]
    assert newer(before) == {}
