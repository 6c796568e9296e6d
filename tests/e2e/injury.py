"""The guests of a host process as the host sees them, and three ways to hurt one at random."""

import hashlib
import os
import random
import signal
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

from process_table import descendants, processes

# Episodes that may be at work at a time, with those that are prepared ahead.
_AT_WORK = 16
# Episodes that may begin between a look at the run and an injury: on a busy machine the look
# takes long, and an episode takes 30 ms.
_BEGUN_MEANWHILE = 48


class BubblewrapGuests:
    """Sandboxes below a host process, found by the process that is PID 1 inside.

    They are children of a fork server, which is PID 1 of a namespace around theirs.
    """

    taken_together = True

    def __init__(self, worker: int):
        self._worker = worker

    def all(self) -> list[tuple[str, int]]:
        """Name and PID 1 of each."""
        family = sorted(pid for pid, _ in descendants(self._worker))
        return [(str(pid), pid) for pid in family if inner_pids(pid)[2:] == [1]]

    def take_away(self, name: str, init: int) -> None:
        """End it from outside, with all others: the fork server is killed."""
        os.kill(processes()[init][0], signal.SIGKILL)


class DockerGuests:
    """Containers of a provider's store."""

    taken_together = False

    def __init__(self, root: Path):
        import docker

        self._api = docker.from_env().api
        store = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]
        self._filter = {"label": f"agentgym.store={store}"}
        self.seen: set[str] = set()

    def close(self) -> None:
        self._api.close()

    def all(self) -> list[tuple[str, int]]:
        """Name and PID 1 of each."""
        found = []
        for container in self._api.containers(filters=self._filter):
            self.seen.add(container["Id"])
            with suppress(OSError):
                init = self._api.inspect_container(container["Id"])["State"]["Pid"]
                found += [(container["Id"], init)] if init else []
        return found

    def take_away(self, name: str, init: int) -> None:
        """Remove the container, as somebody who cleans up does."""
        with suppress(OSError):
            self._api.remove_container(name, force=True)

    def left(self) -> dict[str, list[str]]:
        """What of the store is still there and was not kept on purpose."""
        images = self._api.images(filters=self._filter)
        containers = self._api.containers(all=True, filters=self._filter)
        return {
            "containers": [container["Id"] for container in containers],
            "images": [image["Id"] for image in images if not image["RepoTags"]],
        }

    def forget(self) -> None:
        """Remove what was kept."""
        for image in self._api.images(filters=self._filter):
            self._api.remove_image(image["Id"], force=True)


class Injuries:
    """Hurts a guest every now and then, from a thread, as long as the context is open.

    Attributes:
        done: What was done, in words.
        suspects: Episodes that may have lost a sandbox by it.
    """

    def __init__(self, guests, database: Path, rng: random.Random, every_s: float):
        self._guests, self._database, self._rng = guests, database, rng
        self._every_s = every_s
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self.done: list[str] = []
        self.suspects: set[int] = set()

    def __enter__(self):
        self._running = self._pool.submit(self._run)
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._pool.shutdown()
        self._running.result()

    def _run(self):
        while not self._stop.wait(self._rng.uniform(0, 2 * self._every_s)):
            self._hurt()

    def _hurt(self):
        guests = self._guests.all()
        if not guests:
            return
        name, init = self._rng.choice(guests)
        commands = sorted(pid for pid, _ in descendants(init))
        kind = self._rng.choice(("command", "supervisor", "sandbox"))
        if kind == "command" and not commands:
            return
        # Looked up first: an episode may be over, and the next begun, a moment later.
        self.suspects |= unfinished(self._database, _AT_WORK + _BEGUN_MEANWHILE)
        with suppress(ProcessLookupError, KeyError):
            if kind == "command":
                os.kill(self._rng.choice(commands), signal.SIGKILL)
            elif kind == "supervisor":
                os.kill(init, signal.SIGKILL)
            else:
                self._guests.take_away(name, init)
                # What goes with it was at work, or is started a moment later.
                self.done += [kind] * (_AT_WORK if self._guests.taken_together else 1)
                return
        self.done.append(kind)


def inner_pids(pid: int) -> list[int]:
    """The ids of a process in its process namespaces, the outermost first."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return [int(word) for word in line.split()[1:]]
    return []


def unfinished(database: Path, count: int) -> set[int]:
    """The first episodes of a run that are not over; those at work are among them."""
    return {row[0] for row in query(database, f"{_UNFINISHED} ORDER BY id LIMIT {count}")}


def finished(database: Path) -> int:
    """How many episodes of a run are over."""
    rows = query(database, "SELECT COUNT(*) FROM episodes WHERE state = 'done'")
    return rows[0][0] if rows else 0


_UNFINISHED = "SELECT id FROM episodes WHERE state != 'done'"


def query(database: Path, statement: str) -> list[tuple]:
    if not database.exists():
        return []
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        return connection.execute(statement).fetchall()
