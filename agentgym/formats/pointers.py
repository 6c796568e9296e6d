"""Tasks as pointers: folders of a suite whose `task.toml` names a task elsewhere, by a schema.

A stranger's folder could name any program to run and any folder to read, so only those are followed
that an import has written into this user's own catalogue.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from agentgym import catalogue
from agentgym.errors import ConfigError, TaskError
from agentgym.manifest import parse_toml, show_path
from agentgym.regular_file import read_regular


def states_schema(folder: Path, schema: str) -> bool:
    """Return whether a folder's `task.toml` states a schema."""
    try:
        stated = parse_toml(read_regular(folder / "task.toml").decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return stated.get("schema_version") == schema


def must_be_imported(folder: Path, command: str) -> None:
    """Refuse a folder unless it is a task of the catalogue of imported suites.

    Args:
        folder: The folder of the task.
        command: The command that imports such tasks.

    Raises:
        TaskError: It is elsewhere.
    """
    with suppress(ConfigError):  # without a cache folder nothing was imported
        if folder.resolve().parents[1] == (catalogue.imported_dir() / "tasks").resolve():
            return
    raise TaskError(
        f"{show_path(folder)}: it names programs and files of this machine, so it is followed only "
        f"where an import has written it; run: {command}"
    )


def write_pointer(folder: Path, fields: Mapping[str, str]) -> None:
    """Make the folder of a task, with these fields in its `task.toml`."""
    # A JSON string is also a basic string of TOML.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def replaced_suite(root: Path, suite: str) -> Iterator[Path]:
    """Yield an empty folder that takes the place of a suite of an earlier import at the end.

    Args:
        root: Folder of a catalogue.
        suite: Name of the suite. The earlier one stays if the block raises.
    """
    (root / "tasks").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{suite}-", dir=root) as aside:
        fresh, target = Path(aside) / suite, root / "tasks" / suite
        fresh.mkdir()
        yield fresh
        if target.exists():
            target.rename(Path(aside) / "old")
        if any(fresh.iterdir()):
            shutil.move(fresh, target)
