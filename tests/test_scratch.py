"""Temporary folders end with their process, or with the next one if it was killed."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from agentgym.scratch import make_scratch_folder, scratch_folder

KEPT = """
import os, signal, sys
from agentgym.scratch import make_scratch_folder
made = make_scratch_folder("test")
(made / "large").write_bytes(b"x" * 1000)
print(made, flush=True)
ending = sys.argv[1]
if ending == "wait":
    sys.stdin.read()
elif ending != "exit":
    os.kill(os.getpid(), int(ending))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def _run(ending):
    done = subprocess.run(
        [sys.executable, "-c", KEPT, str(ending)], capture_output=True, text=True, timeout=60
    )
    return done.stdout.strip()


def test_a_folder_is_this_users_and_ends_with_its_context(place):
    with scratch_folder("test") as name:
        assert os.stat(name).st_mode & 0o777 == 0o700
        assert name.startswith(f"{place}/agentgym-{os.getuid()}/live/")
    assert not os.path.exists(name)


def test_a_process_that_ends_leaves_nothing(place):
    made = _run("exit")
    assert made.startswith(str(place))
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_one(place):
    made = _run(int(signal.SIGKILL))
    assert os.path.exists(made)
    _run("exit")
    assert list(place.iterdir()) == []


def test_a_living_process_keeps_its_folders(place):
    command = [sys.executable, "-c", KEPT, "wait"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as living:
        made = living.stdout.readline().strip()
        _run("exit")
        assert os.path.exists(made)
        living.stdin.close()
        assert living.wait(60) == 0
    assert list(place.iterdir()) == []


def test_a_living_process_keeps_its_folders_where_a_cleaner_removes_its_lock(place):
    command = [sys.executable, "-c", KEPT, "wait"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as living:
        made = Path(living.stdout.readline().strip())
        (made.parent / "lock").unlink()
        _run("exit")
        assert made.exists()
        living.stdin.close()
        assert living.wait(60) == 0
    assert list(place.iterdir()) == []


def test_a_cleaner_sees_that_the_folder_is_in_use(place):
    with scratch_folder("test") as name:
        # systemd-tmpfiles(8) leaves a folder alone that somebody has locked.
        folder = os.open(Path(name).parent, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(folder)


def test_a_forked_process_has_a_folder_of_its_own(place):
    mine = make_scratch_folder("test")
    child = os.fork()
    if child == 0:
        try:
            own = make_scratch_folder("test")
            os._exit(0 if own.parent != mine.parent else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert mine.is_dir()


@pytest.mark.parametrize("mask", [0o077, 0o002])
def test_a_process_without_rights_reaches_its_folder_whatever_the_mask(place, mask):
    # Checks run as another user if this one is root.
    earlier = os.umask(mask)
    try:
        made = make_scratch_folder("test")
    finally:
        os.umask(earlier)
    assert [each.stat().st_mode & 0o777 for each in made.parents[:3]] == [0o711] * 3


@pytest.mark.parametrize("taken", ["link", "file", "open to all"])
def test_a_name_that_somebody_else_has_taken_is_not_used(place, tmp_path_factory, taken):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    root = place / f"agentgym-{os.getuid()}"
    if taken == "link":
        root.symlink_to(elsewhere)
    elif taken == "file":
        root.write_text("")
    else:
        root.mkdir()
        root.chmod(0o777)
    with scratch_folder("test") as name:
        assert not name.startswith(f"{root}/")
    assert list(elsewhere.iterdir()) == []


def test_a_cleaner_may_remove_the_folder_in_between(place):
    first = make_scratch_folder("test")
    shutil.rmtree(place / f"agentgym-{os.getuid()}")
    assert not first.exists()
    assert make_scratch_folder("test").is_dir()


def test_threads_share_the_folder_of_their_process(place):
    made, threads = [], []
    for _ in range(16):
        threads.append(threading.Thread(target=lambda: made.append(make_scratch_folder("test"))))
        threads[-1].start()
    for thread in threads:
        thread.join()
    assert len({path.parent for path in made}) == 1
    assert len(set(made)) == 16
