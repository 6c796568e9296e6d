"""What a run can leave on this machine: processes, mounts, control groups, locks, files."""

import json
import os
import re
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from process_table import descendants, survivors


def wait_until(condition, seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.03)  # to look at every process takes as long
    return bool(met)


def ended_within(process: subprocess.Popen, seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    return process.returncode is not None


def control_groups(pids) -> list[Path]:
    """Control groups that host processes with these ids have made for their sandboxes."""
    return [
        folder
        for hierarchy in ("memory", "pids", "cpu", "")
        for pid in pids
        for folder in Path("/sys/fs/cgroup", hierarchy, "agentgym").glob(f"{pid}-*")
    ]


def assert_clean(cache: Path, pids) -> None:
    """Nothing of ended runs is left but what is kept on purpose."""
    assert str(cache) not in Path("/proc/self/mountinfo").read_text()
    assert control_groups(pids) == []
    store = cache / "sandbox"
    assert list((store / "live").iterdir()) == []
    assert list((store / "l").glob(".*")) == []
    assert list((cache / "gold").glob("*.new")) == []


# --- of everything below a folder, noted as it goes -------------------------------------------

# Folders of guests' files, whatever names those have.
_GUESTS = re.compile(r"cache/sandbox/l/[^/]+/")
_DRAFT = re.compile(r"(^|/)\.[^/]*$|\.(new|part)$|-(wal|shm)$")


class Traces:
    """What a run has had of this machine. `home` holds its cache, its folder, its TMPDIR."""

    def __init__(self, home: Path):
        self._home = home
        self._family: set[tuple[int, int]] = set()
        self._pids: list[int] = []
        self.containers: set[str] = set()
        self._groups = {path.name for path in _own_groups()}

    def note(self, pid: int) -> set[tuple[int, int]]:
        """Remember a host process with all that is below it now; return those."""
        family = descendants(pid)
        self._family |= family
        self._pids.append(pid)
        return family

    def left(self) -> dict[str, list[str]]:
        """Everything that is still there, by kind; empty where nothing is."""
        found = {
            "processes": [*survivors(self._family), *self._mentioning()],
            "mounts": self._mounts(),
            "control groups": [*map(str, self._control_groups())],
            "sockets": [line for line in _lines("/proc/net/unix") if str(self._home) in line],
            "locks": self._locks(),
            "files": [*self._files()],
            "layers": self._layers(),
        }
        return {kind: things for kind, things in found.items() if things}

    def _mentioning(self):
        """Processes that have the folder in their command line, environment or as their own."""
        home = str(self._home).encode()
        for folder in Path("/proc").glob("[0-9]*"):
            if folder.name == str(os.getpid()):
                continue
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
                if any(home in word for word in (*words, os.fsencode(os.readlink(folder / "cwd")))):
                    yield f"{folder.name}: {words[0]!r}"

    def _mounts(self) -> list[str]:
        """Mounts below the folder, or of a container, in any mount namespace."""
        names = [str(self._home), *(f"containers/{name}" for name in self.containers)]
        spaces = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                spaces[os.readlink(folder / "ns/mnt")] = folder / "mountinfo"
        lines = (line for table in spaces.values() for line in _lines(table))
        return [line for line in lines if any(name in line for name in names)]

    def _control_groups(self):
        yield from control_groups(pid for pid in self._pids if pid != os.getpid())
        yield from (path for path in _own_groups() if path.name not in self._groups)
        # Unlike Path.glob it goes on where others remove theirs meanwhile.
        for path, _, _ in os.walk("/sys/fs/cgroup") if self.containers else ():
            if os.path.basename(path) in self.containers:
                yield path

    def _locks(self) -> list[str]:
        inodes = {path.lstat().st_ino: path for path in self._home.rglob("*")}
        held = [line.split() for line in _lines("/proc/locks")]
        numbers = [int(words[5].split(":")[2]) for words in held if words[1] != "->"]
        return [str(inodes[number]) for number in numbers if number in inodes]

    def _files(self):
        for path in self._home.rglob("*"):
            name = str(path.relative_to(self._home))
            if _GUESTS.match(name):
                continue
            if _DRAFT.search(name) or path.parent.name in ("live", "tmp"):
                yield name

    def _layers(self) -> list[str]:
        """Lasting layers that no kept snapshot needs, the bases apart."""
        store = self._home / "cache/sandbox"
        entries = [json.loads(path.read_text()) for path in store.glob("kept/*.json")]
        needed = {layer for entry in entries for layer in entry["layers"]}
        return [
            path.name
            for path in store.glob("l/*")
            if f"l/{path.name}" not in needed
            and not path.name.startswith(("host-", "img-", "root-"))
        ]


def _own_groups() -> list[Path]:
    return control_groups([os.getpid()])


def _lines(path) -> list[str]:
    with suppress(OSError):
        return Path(path).read_text(errors="replace").splitlines()
    return []


def belongings() -> dict[str, list[str]]:
    """What this process itself holds: descriptors, threads, children."""
    descriptors = []
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            descriptors.append(f"{path.name} {os.readlink(path)}")
    return {
        "descriptors": sorted(descriptors),
        # The threads of a pool begin one by one, as far as its bound, and wait for more work.
        "threads": sorted(
            thread.name
            for thread in threading.enumerate()
            if not thread.name.startswith(("agentgym-files_", "agentgym-computing_"))
        ),
        "children": sorted(str(pid) for pid, _ in descendants(os.getpid())),
    }


def newer(before: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the descriptors, threads and children that this process did not have before.

    What other tests of the process left, such as sandboxes kept ready, may end meanwhile.
    """
    found = {
        kind: sorted((Counter(held) - Counter(before[kind])).elements())
        for kind, held in belongings().items()
    }
    return {kind: held for kind, held in found.items() if held}
