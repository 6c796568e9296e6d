"""Make a backup, the disk that a killed restore left of it, and a morning's work on that disk.

What is whole, damaged, missing, changed and deleted is drawn first; logs, disk and gold follow
from it.
"""

from __future__ import annotations

import calendar
import gzip
import hashlib
import io
import json
import os
import random
import tarfile
import time
from pathlib import Path

KINDS = ("plan", "letter", "minutes", "photo", "invoice", "notice", "survey", "appeal")
PEOPLE = ("a.lindqvist", "m.okoro", "j.petersen", "s.dubois", "r.kamal")
WORDS = """the applicant was told by phone that the north wall needs a second drawing and that the
fee is due before the hearing in may see also the letter of the neighbour and the
minutes""".split()  # noqa: SIM905
SERVICE, DATE = os.environ["PARAM_SERVICE"], os.environ["PARAM_DATE"]
ROOT = Path("/srv") / SERVICE
MIDNIGHT = calendar.timegm(time.strptime(DATE, "%Y-%m-%d"))
Files = dict[str, tuple[bytes, int, int]]  # contents, mode and mtime by path


def clock(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(MIDNIGHT + seconds))


def contents(rng: random.Random, kind: str, size: int) -> bytes:
    if kind in ("plan", "photo"):
        return rng.randbytes(size)
    lines = []
    while sum(map(len, lines)) < size:
        lines.append(" ".join(rng.choices(WORDS, k=12)) + "\n")
    return "".join(lines).encode()[: size - 1] + b"\n"


def draw_backup(rng: random.Random) -> Files:
    files = {}
    for case in sorted(rng.sample(range(100, 990), 14)):
        for number, kind in enumerate(rng.sample(KINDS, rng.randint(4, 7)), 1):
            suffix = {"plan": "dwg", "photo": "jpg"}.get(kind, "txt")
            mtime = MIDNIGHT - rng.randint(2, 700) * 86_400 + rng.randint(25_000, 60_000)
            path = f"cases/{case:04d}/{number:02d}-{kind}.{suffix}"
            data = contents(rng, kind, rng.randint(300, 5_000))
            files[path] = (data, rng.choice((0o640, 0o640, 0o644, 0o600)), mtime)
    return files


def write_backup(files: Files) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, (data, mode, mtime) in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode, member.mtime = len(data), mode, mtime
            tar.addfile(member, io.BytesIO(data))
    target = Path(f"/srv/backup/{SERVICE}-{DATE}.tar.gz")
    target.parent.mkdir()
    target.write_bytes(gzip.compress(buffer.getvalue(), mtime=MIDNIGHT + 5_400))
    os.utime(target, (MIDNIGHT + 5_400,) * 2)


def write(path: str, data: bytes, mode: int, mtime: int) -> None:
    target = ROOT / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    target.chmod(mode)
    os.utime(target, (mtime, mtime))


def torn(data: bytes, rng: random.Random, number: int) -> bytes:
    """Return what a killed write leaves: the beginning, or the size reserved and zeros in it."""
    cut = rng.randint(len(data) // 4, len(data) * 3 // 4)
    return data[:cut] if number % 3 else data[:cut] + bytes(len(data) - cut)


class Restore:
    """The progress of the restore when it was killed.

    Attributes:
        late: Files that were whole, and not yet noted as done.
        damaged: Files in the middle of which the four workers died.
        whole: Files that were restored, those that were late among them.
        missing: Files that it had not come to.
        journal: Its log.
        killed: When, in Unix time.
    """

    def __init__(self, rng: random.Random, backup: Files) -> None:
        order = list(backup)
        reached = len(order) * rng.randint(60, 70) // 100
        spots = sorted(rng.sample(range(reached - 14, reached), 8))
        unfinished = [order[spot] for spot in spots]
        self.late = rng.sample(unfinished, 2)
        self.damaged = [path for path in unfinished if path not in self.late]
        self.whole = [path for path in order[:reached] if path not in self.damaged]
        self.missing = order[reached:]
        second = 18_722
        self.journal = f"{clock(18_720)} start {SERVICE}-{DATE}.tar.gz, 4 workers\n"
        for path in order[:reached]:
            second += rng.randint(1, 9)
            self.journal += f"{clock(second)} open {path}\n"
            if path not in unfinished:
                self.journal += f"{clock(second + rng.randint(0, 1))} done {path}\n"
        self.killed = MIDNIGHT + second + 4

    def disk(self, rng: random.Random, backup: Files) -> tuple[Files, Files]:
        """Return the service's files, and the temporary ones beside them."""
        files = {path: backup[path] for path in self.whole}
        for number, path in enumerate(self.damaged):
            files[path] = (torn(backup[path][0], rng, number), 0o600, self.killed)
        leftovers = {
            f"{path}.restore-tmp": (backup[path][0][:200], 0o600, self.killed)
            for path in rng.sample(self.damaged, 2)
        }
        return files, leftovers


class Morning:
    """The work of people since eight.

    Attributes:
        changes: Second of the day, what was done, and path.
        deleted: What they deleted for good.
    """

    def __init__(self, rng: random.Random, disk: Files) -> None:
        self.rng = rng
        self.disk = disk
        self.changes: list[tuple[int, str, str]] = []
        self.deleted: list[str] = []

    def work(self, backup: Files, restore: Restore) -> None:
        rng = self.rng
        free = rng.sample([path for path in restore.whole if path not in restore.late], 9)
        for path in free[:4]:
            self.save(path, self.moment())
        # The field staff's sync client keeps a file's own time, which can be before the backup's.
        self.save(free[4], self.moment(), backup[free[4]][2] - 40_000)
        self.save(restore.damaged[0], self.moment())
        self.save(restore.missing[rng.randrange(len(restore.missing))], self.moment())
        first = next(iter(backup)).rsplit("/", 1)[0]
        self.save(f"{first}/90-{rng.choice(KINDS[3:])}.txt", self.moment())
        for path in free[5:7]:
            self.delete(path, self.moment())
        moment = self.moment()
        self.save(free[7], moment)
        self.delete(free[7], moment + 1_260)
        moment = self.moment()
        self.changes.append((moment, "deleted", free[8]))
        self.save(free[8], moment + 95)

    def moment(self) -> int:
        return self.rng.randint(29_400, 54_000)

    def save(self, path: str, moment: int, mtime: int | None = None) -> None:
        data = contents(self.rng, "letter", self.rng.randint(150, 3_000))
        self.disk[path] = (data, 0o640, MIDNIGHT + moment if mtime is None else mtime)
        self.changes.append((moment, "saved", path))

    def delete(self, path: str, moment: int) -> None:
        del self.disk[path]
        self.deleted.append(path)
        self.changes.append((moment, "deleted", path))

    def log(self) -> str:
        lines = [f"{clock(28_803)} started\n"]
        for moment, what, path in sorted(self.changes):
            lines.append(f"{clock(moment)} {what} {self.rng.choice(PEOPLE)} {path}\n")
        return "".join(lines)


def truth(backup: Files, restore: Restore, morning: Morning) -> dict[str, object]:
    """Return what has to be put back, and what people left."""
    touched = {path for _, _, path in morning.changes}
    return {
        "missing": [path for path in restore.missing if path not in touched],
        "damaged": [path for path in restore.damaged if path not in touched],
        "backup": {path: [digest(data), *rest] for path, (data, *rest) in backup.items()},
        "deleted": sorted(morning.deleted),
        "people": {
            path: digest(morning.disk[path][0]) for path in sorted(touched) if path in morning.disk
        },
    }


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    rng = random.Random(f"partial-restore {os.environ['PARAM_SEED']}")
    backup = draw_backup(rng)
    write_backup(backup)
    restore = Restore(rng, backup)
    disk, leftovers = restore.disk(rng, backup)
    morning = Morning(rng, disk)
    morning.work(backup, restore)
    for path, (data, mode, mtime) in {**disk, **leftovers}.items():
        write(path, data, mode, mtime)
    write(".restore/journal.log", restore.journal.encode(), 0o644, restore.killed)
    write("changes.log", morning.log().encode(), 0o644, MIDNIGHT + 54_100)
    gold = json.dumps(truth(backup, restore, morning))
    (Path(os.environ["AGENTGYM_GOLD"]) / "restore.json").write_text(gold)


main()
