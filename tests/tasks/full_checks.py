"""Which version of each bundled task `make test-full` found sound over all seeds.

`make test` examines a task with one seed while its folder still is that version, and with all
seeds otherwise. `python tests/tasks/full_checks.py`, the last step of `make test-full`, notes
the versions in `full_checks.json`.
"""

import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTED = Path(__file__).with_suffix(".json")


def version_of(folder):
    """Return a digest of the names, modes and contents of a task folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = path.read_bytes()
            executable = bool(path.stat().st_mode & 0o100)
            digest.update(f"{path.relative_to(folder)} {executable} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def is_noted(folder):
    """Return whether a folder is the version that was examined with all seeds."""
    noted = json.loads(NOTED.read_text()) if NOTED.exists() else {}
    return noted.get(f"{folder.parent.name}/{folder.name}") == version_of(folder)


def note():
    """Note the present version of every bundled task."""
    folders = sorted(path.parent for path in ROOT.glob("tasks/*/*/task.toml"))
    versions = {f"{path.parent.name}/{path.name}": version_of(path) for path in folders}
    NOTED.write_text(json.dumps(versions, indent=1) + "\n")
    print(f"noted {len(versions)} tasks in {NOTED.relative_to(ROOT)}")


if __name__ == "__main__":
    note()
