"""Write three disks of photos, some on several of them, with notes beside some of the copies."""

from __future__ import annotations

import calendar
import hashlib
import json
import os
import random
from pathlib import Path

ROOT = Path("/srv/photos/library")
DISKS = ("camera-cards", "laptop 2019", "phone-backup")
PEOPLE = ("Ada", "Bruno", "Grandma", "Jakob", "Lena", "Mia", "Uncle Ray", "Zoë")
SAYINGS = ("On the ferry", "First day of school", "The old kitchen", "Birthday, by the lake", "")
FOLDERS = ("DCIM/100", "DCIM/101", "summer", "Sorted/best of", "misc")
OTHERS = {
    "laptop 2019/misc/Thumbs.db": b"thumbs",
    "phone-backup/notes.txt": b"ask Lena\n",
    "camera-cards/summer/IMG_9999.jpg.json": b'{"title": "IMG_9999.jpg", "people": []}',
}


def photo(rng: random.Random, kind: str, size: int) -> bytes:
    head = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" if kind == "jpg" else b"\x00\x00\x00\x18ftypheic"
    return head + rng.randbytes(size - len(head))


def notes(rng: random.Random, name: str) -> dict[str, object]:
    made: dict[str, object] = {"title": name, "rating": rng.randint(0, 5)}
    made["description"] = rng.choice(SAYINGS)
    made["people"] = sorted(rng.sample(PEOPLE, rng.randint(0, 3)))
    if rng.random() < 0.5:
        made["place"] = rng.choice(("Visby", "Como", "Lagos", "Brno"))
    if rng.random() < 0.3:
        made["album"] = {"name": rng.choice(("A", "B")), "page": rng.randint(1, 40)}
    return made


def merged(found: list[dict]) -> dict:
    result = dict(found[0])
    result["people"] = sorted({name for one in found for name in one["people"]})
    result["rating"] = max(one["rating"] for one in found)
    result["description"] = next((one["description"] for one in found if one["description"]), "")
    return result


class Library:
    """The content of the disks, as it is drawn.

    Attributes:
        photos: Contents and modification time by path.
        written: What was written about some of them.
        copies: The paths of each photo, the one that stays first.
    """

    def __init__(self, rng: random.Random, year: int) -> None:
        self.rng = rng
        self.year = year
        self.photos: dict[str, tuple[bytes, int]] = {}
        self.written: dict[str, dict] = {}
        self.copies: list[list[str]] = []

    def add(self, number: int) -> None:
        """Draw a photo, some with copies, some with another one that looks like a copy."""
        rng, kind = self.rng, self.rng.choice(("jpg", "jpg", "heic"))
        data, mtime = photo(rng, kind, rng.randint(900, 5_000)), self.moment()
        group = [self.place(data, kind, mtime)]
        for _ in range(rng.choice((1, 1, 2)) if number % 5 < 2 else 0):
            later = rng.choice((0, 0, rng.randint(1, 10**7), -rng.randint(1, 10**6)))
            name = rng.choice(("", f"Copy of {number}", "best  one"))
            group.append(self.place(data, kind, mtime + later, name))
        if number % 9 == 0:
            # The same size, another picture; and with it the same name where it can be.
            self.place(data[:-1] + bytes([data[-1] ^ 1]), kind, mtime, Path(group[0]).stem)
        self.copies.append(sorted(group, key=lambda path: (self.photos[path][1], path.encode())))
        for path in group:
            if rng.random() < 0.55:
                self.written[path] = notes(rng, Path(path).name)

    def moment(self) -> int:
        rng = self.rng
        day, minute = (
            (rng.randint(1, 12), rng.randint(1, 28)),
            (rng.randint(6, 21), rng.randint(0, 59)),
        )
        return calendar.timegm((self.year, *day, *minute, 0))

    def place(self, data: bytes, kind: str, mtime: int, name: str = "") -> str:
        """Put a photo somewhere, under the name where it is free, and return its path."""
        for _ in range(1000):
            stem = name or f"IMG_{self.rng.randint(1, 60):04d}"
            path = f"{self.rng.choice(DISKS)}/{self.rng.choice(FOLDERS)}/{stem}.{kind}"
            if path not in self.photos:
                self.photos[path] = (data, mtime)
                return path
            name = ""
        raise SystemExit("no place for another photo")

    def texts(self) -> dict[str, bytes]:
        """Return all files that are no photos."""
        beside = {
            f"{path}.json": json.dumps(made, ensure_ascii=False).encode()
            for path, made in self.written.items()
        }
        return {**beside, **OTHERS}

    def write(self) -> None:
        dated = {
            path: (text, calendar.timegm((2024, 5, 1, 9, 0, 0)))
            for path, text in self.texts().items()
        }
        for path, (data, mtime) in {**self.photos, **dated}.items():
            target = ROOT / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            os.utime(target, (mtime, mtime))

    def truth(self) -> dict[str, object]:
        """Return what has to become of it."""
        moved, notes_moved, changed = {}, [], {}
        for first, *rest in self.copies:
            moved.update(dict.fromkeys(rest, first))
            found = [self.written[path] for path in (first, *rest) if path in self.written]
            notes_moved += [f"{path}.json" for path in rest if path in self.written]
            if rest and found and merged(found) != self.written.get(first):
                changed[f"{first}.json"] = merged(found)
        return {
            "moved": moved,
            "notes_moved": notes_moved,
            "changed": changed,
            "files": {path: [digest(data), mtime] for path, (data, mtime) in self.photos.items()},
            "texts": {path: digest(text) for path, text in self.texts().items()},
        }


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    params = json.loads(os.environ["AGENTGYM_PARAMS"])
    rng = random.Random(f"photo-duplicates {params['seed']}")
    library = Library(rng, params["year"])
    for number in range(75):
        library.add(number)
    for _ in range(3):
        library.place(b"", "jpg", library.moment())
    library.write()
    (Path(os.environ["AGENTGYM_GOLD"]) / "library.json").write_text(json.dumps(library.truth()))


main()
