"""The private Python of supervisors: made once, of what works, and out of the guest's reach."""

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from agentgym.errors import SandboxError
from agentgym.records import Recipe
from agentgym.sandbox import runtime
from agentgym.sandbox.runtime import find_runtime

MAKE = "import sys; from pathlib import Path; from agentgym.sandbox.runtime import find_runtime\n"
MAKE += "print(find_runtime(Path(sys.argv[1])).folder)"


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder of assembled runtimes that only this test uses."""
    monkeypatch.setenv("AGENTGYM_RUNTIMES", str(tmp_path / "shared"))
    return tmp_path / "shared"


def test_several_processes_make_one_runtime(tmp_path, shared):
    makers = [
        subprocess.Popen([sys.executable, "-c", MAKE, tmp_path], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = {maker.communicate()[0] for maker in makers}
    assert [maker.returncode for maker in makers] == [0] * 4
    assert len(said) == 1
    assert len(list(tmp_path.glob("*runtime-*"))) == 1
    (assembled,) = shared.glob("*runtime-*")
    # A second store links the files and survives the removal of what it linked.
    (tmp_path / "second").mkdir()
    made = find_runtime(tmp_path / "second")
    twin = assembled / made.folder.relative_to(made.layer)
    assert (twin / "supervisor.pyc").samefile(made.folder / "supervisor.pyc")
    assert runtime.remove_old_runtimes() == 0
    assembled.rename(assembled.with_name("runtime-000000000000"))
    assert runtime.remove_old_runtimes() > 1_000_000
    assert not list(shared.glob("runtime-*"))
    assert (made.folder / "supervisor.pyc").stat().st_size > 0


def test_what_a_dead_builder_left_is_removed(tmp_path, shared):
    for folder in (tmp_path, shared):
        (folder / ".runtime-0123456789ab/run").mkdir(parents=True)
    find_runtime(tmp_path)
    assert not [*tmp_path.glob(".runtime-*"), *shared.glob(".runtime-*")]


def test_a_python_that_cannot_be_moved_is_passed_over(tmp_path, shared, monkeypatch):
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho no such Python >&2; exit 1\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    assert runtime.candidates()[0] == script
    assert find_runtime(tmp_path).folder.is_dir()
    monkeypatch.setattr(runtime, "candidates", lambda: [script])
    (tmp_path / "other").mkdir()
    with pytest.raises(SandboxError, match="no such Python.*apt-get install"):
        find_runtime(tmp_path / "other")
    monkeypatch.setattr(runtime, "candidates", list)
    assert runtime.problems()


def process_lines():
    """Process id to command line of everything on this host."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            # It may have ended since it was listed.
            with contextlib.suppress(OSError):
                found[folder.name] = (folder / "cmdline").read_bytes()
    return found


async def test_a_guest_cannot_put_a_library_into_its_supervisor(provider):
    box = await provider.start(Recipe("host"))
    library = next(Path("/usr/lib").glob("*/libresolv.so.2"))
    await box.write_file("/etc/ld.so.preload", f"{library}\n".encode())
    fork = await box.fork()
    # The guest's own programs load it; PID 1, seen from the host, does not.
    maps = await fork.exec(["cat", "/proc/self/maps"])
    assert b"libresolv" in maps.stdout
    marker = f"7{id(fork)}"
    await fork.exec(["sh", "-c", f"sleep {marker} >/dev/null 2>&1 &"])
    # A process that is just being replaced by another program has no command line.
    while not (
        sleepers := [pid for pid, argv in process_lines().items() if marker.encode() in argv]
    ):
        await asyncio.sleep(0.01)
    (sleeper,) = sleepers
    parent = Path(f"/proc/{sleeper}/stat").read_text().rpartition(")")[2].split()[1]
    seen = Path("/proc", parent, "maps").read_text()
    assert "python" in seen and "libresolv" not in seen


async def test_commands_do_not_inherit_how_the_supervisor_runs(provider):
    box = await provider.start(Recipe("host"))
    names = {line.partition(b"=")[0] for line in (await box.exec(["env"])).stdout.splitlines()}
    assert not names & {b"LC_ALL", b"LD_LIBRARY_PATH", b"LD_PRELOAD", b"PYTHONHOME"}
    exe = await box.exec(["readlink", "/proc/self/exe"])
    assert exe.stdout == b"/usr/bin/readlink\n"
    shut = await box.exec(["sh", "-c", f"echo x > {runtime.RUNTIME}/supervisor.pyc"])
    assert b"Read-only" in shut.stderr
