"""Which version of each bundled task was found sound over all seeds and properties.

`make test` examines a task with one seed while its folder still is that version, and with all
seeds and properties otherwise. With `--note`, as `make sound` and `make test-full` run it, pytest
notes the versions that it found sound in `full_checks.json`.
"""

import fcntl
import hashlib
import json
from pathlib import Path

from agentgym.swe.releases.pair import bundled_pairs
from agentgym.swe.releases.task_folder import SUITE

ROOT = Path(__file__).resolve().parents[2] / "tasks"
NOTED = Path(__file__).with_suffix(".json")


def version_of(folder):
    """Return a digest of the names, modes and contents of a task folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        # Solutions for other surfaces than the environment's are not what was examined.
        other_surface = path.parent == folder / "solution" and path.stem == "browser"
        if path.is_file() and "__pycache__" not in path.parts and not other_surface:
            content = path.read_bytes()
            executable = bool(path.stat().st_mode & 0o100)
            digest.update(f"{path.relative_to(folder)} {executable} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()[:16]


def is_noted(folder):
    """Return whether a folder is the version that was examined with all seeds."""
    noted = json.loads(NOTED.read_text()) if NOTED.exists() else {}
    return noted.get(_name(folder)) == version_of(folder)


def note(folder, version):
    """Note that a version of a task was found sound; forget tasks that are gone."""
    with NOTED.open("a+") as file:
        # The workers of a session note at the same time.
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        noted = json.loads(file.read() or "{}") | {_name(folder): version}
        kept = {name: noted[name] for name in sorted(noted) if _exists(name)}
        file.truncate(0)
        file.write(json.dumps(kept, indent=1) + "\n")


def _exists(name):
    suite, _, task = name.partition("/")
    # The tasks of this suite are made of definitions when they are needed.
    return task in bundled_pairs() if suite == SUITE else (ROOT / name).is_dir()


def _name(folder):
    return f"{folder.parent.name}/{folder.name}"
