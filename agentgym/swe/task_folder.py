"""An instance as a task folder: `task.toml`, the instance, and the build context of its image."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from agentgym.errors import TaskError
from agentgym.manifest import Manifest, load_toml, show_path
from agentgym.regular_file import read_regular
from agentgym.swe.clone import Clone, TreeEntry
from agentgym.swe.instance import EnvironmentSpec, Instance
from agentgym.swe.instance_tests import InstanceTests
from agentgym.swe.patch import FILE_BYTES, Entry, PatchError, check_path
from agentgym.swe.specs.image import CONTEXT, REPOSITORY, environment_image

SCHEMA: Final = "agentgym.swebench/1"
ENVIRONMENT: Final = "environment"
_INSTANCE: Final = "instance.json"
_INSTANCE_BYTES: Final = 256 << 20
_LONGEST: Final = 100
_LARGEST: Final = 4 << 30
"""Bytes of a repository."""
_MOST_FILES: Final = 1_000_000
_ODD_NAMES: Final = frozenset(
    {
        *(errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ELOOP),
        *(errno.ENAMETOOLONG, errno.ENOENT, errno.EINVAL, errno.EILSEQ),
    }
)
"""Why the names of a tree cannot be written, whatever the disk."""
_ADAPTER: Final = TypeAdapter(Instance)


class Pointer(Manifest):
    """The `task.toml` of such a folder.

    Attributes:
        id: ``suite/name-v1``.
        replaced: See `EnvironmentImage`.
    """

    schema_version: Literal["agentgym.swebench/1"]
    id: str
    replaced: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class InstanceTask:
    """A task folder that was read.

    Attributes:
        folder: The folder.
        pointer: Its `task.toml`.
        instance: The instance, with its complete environment.
    """

    folder: Path
    pointer: Pointer
    instance: Instance

    @property
    def context(self) -> Path:
        """The folder of the Dockerfile."""
        return self.folder / ENVIRONMENT

    def tests(self, plugins: tuple[str, ...] = ()) -> InstanceTests:
        """Return the tests of the instance."""
        assert self.instance.environment is not None, "write_task states it"
        return InstanceTests(
            instance=self.instance,
            spec=self.instance.environment,
            root=REPOSITORY,
            base=files_below(self.context / CONTEXT),
            plugins=plugins,
        )


def files_below(root: Path) -> Callable[[str], Entry | None]:
    """Return a look-up of files in a folder of this machine; links are not followed."""

    def find(path: str) -> Entry | None:
        parts = check_path(path).split("/")
        if any((root / "/".join(parts[:count])).is_symlink() for count in range(1, len(parts))):
            return None
        full = root / path
        if full.is_symlink():
            return Entry("link", os.fsencode(os.readlink(full)))
        if not full.is_file() or full.stat().st_size > FILE_BYTES:
            return None
        return Entry("file", full.read_bytes(), bool(full.stat().st_mode & 0o100))

    return find


def write_task(
    suite_folder: Path,
    instance: Instance,
    clone: Clone,
    spec: EnvironmentSpec,
    until: datetime | None,
) -> Path:
    """Write the task folder of an instance, in place of an earlier one, and return it.

    Args:
        suite_folder: Folder of the suite; its name is the first part of the task's id.
        instance: The instance.
        clone: Clone with its base commit.
        spec: Its complete environment.
        until: Packages uploaded later are not used.

    Raises:
        TaskError: The commit is absent, no recipe has the toolchain, or a patch does not apply.
    """
    image = environment_image(spec, until, clone.release(instance.base_commit))
    instance = replace(instance, environment=spec)
    name = folder_name(instance.id)
    suite_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=suite_folder) as aside:
        fresh = Path(aside) / name
        repository = fresh / ENVIRONMENT / CONTEXT
        repository.mkdir(parents=True)
        write_files(clone, instance.base_commit, repository)
        (fresh / ENVIRONMENT / "Dockerfile").write_text(image.dockerfile, "utf-8")
        (fresh / _INSTANCE).write_bytes(_ADAPTER.dump_json(instance, indent=1))
        lines = [
            f'schema_version = "{SCHEMA}"',
            f'id = "{suite_folder.name}/{name}-v1"',
            "[replaced]",
            *(f"{json.dumps(what)} = {json.dumps(by)}" for what, by in image.replaced.items()),
        ]
        (fresh / "task.toml").write_text("\n".join(lines) + "\n", "utf-8")
        _check_patches(read_task(fresh))
        target = suite_folder / name
        if os.path.lexists(target):
            target.rename(Path(aside) / "old")
        fresh.rename(target)
    return target


def _check_patches(task: InstanceTask) -> None:
    tests = task.tests()
    for name in ("gold", "hidden"):
        try:
            getattr(tests, name)
        except PatchError as error:
            which = "patch" if name == "gold" else "test_patch"
            raise TaskError(f"{task.instance.id}: {which} does not apply: {error}") from error


def read_task(folder: Path) -> InstanceTask:
    """Return the task that a folder holds.

    Raises:
        TaskError: A file is absent or broken.
    """
    pointer = load_toml(folder / "task.toml", Pointer, TaskError)
    try:
        instance = _ADAPTER.validate_json(read_regular(folder / _INSTANCE, _INSTANCE_BYTES))
    except OSError as error:
        raise TaskError(f"{show_path(folder / _INSTANCE)}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise TaskError(f"{show_path(folder / _INSTANCE)}: {where}: {first['msg']}") from error
    if instance.environment is None:
        raise TaskError(
            f"{show_path(folder / _INSTANCE)}: environment: is missing; import it again"
        )
    return InstanceTask(folder, pointer, instance)


def folder_name(instance_id: str) -> str:
    """Return the name of an instance's folder, a part of a task id; no two ids share one."""
    plain = re.sub(r"[^a-z0-9_]+", "-", instance_id.lower()).strip("-_")
    plain = plain[-_LONGEST:].strip("-_") or "instance"
    if plain == instance_id:
        return plain
    return f"{plain}-{hashlib.sha256(instance_id.encode()).hexdigest()[:6]}"


def write_files(clone: Clone, commit: str, target: Path) -> list[str]:
    """Write the files and links of a commit below a folder; return the submodules, left empty.

    Raises:
        TaskError: A path leads out of the repository, is there twice, or cannot be a name; or there
            are too many.
        OSError: The disk is full, or refuses it.
    """
    entries = list(clone.entries(commit))
    if len(entries) > _MOST_FILES:
        raise TaskError(f"{clone.path}: {commit[:10]} has more than {_MOST_FILES:,} files")
    wanted = [entry for entry in entries if entry.mode != "160000"]
    if (size := sum(entry.size for entry in wanted)) > _LARGEST:
        raise TaskError(f"{clone.path}: {commit[:10]} has {size} bytes; the limit is {_LARGEST}")
    made = _Folders(target)
    empty = ((entry, b"") for entry in entries if entry.mode == "160000")
    for entry, data in itertools.chain(clone.contents(wanted), empty):
        try:
            _write(entry, data, made.above(check_path(entry.path)))
        except PatchError as error:
            raise TaskError(f"{clone.path}: {error}") from error
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno not in _ODD_NAMES:
                raise
            raise TaskError(
                f"{clone.path}: {commit[:10]}: {entry.path!r:.200} cannot be written: {error}"
            ) from error
    return [entry.path for entry in entries if entry.mode == "160000"]


def _write(entry: TreeEntry, data: bytes, full: Path) -> None:
    """Write a file, a link or an empty folder, under a name that nothing has.

    A tree that Git did not make may name a path twice: first a link, then a file through it.

    Raises:
        OSError: It cannot be written.
        ValueError: It is a link that no file system has.
    """
    if entry.mode == "160000":
        full.mkdir()
    elif entry.mode == "120000":
        os.symlink(os.fsdecode(data), full)
    else:
        with full.open("xb") as file:
            file.write(data)
            os.fchmod(file.fileno(), 0o755 if entry.mode == "100755" else 0o644)


class _Folders:
    """Makes the folders above paths, and never through a link of the repository."""

    def __init__(self, root: Path) -> None:
        self._root, self._known = root, {root}

    def above(self, path: str) -> Path:
        full = self._root / path
        if full.parent not in self._known:
            for folder in [*reversed(full.relative_to(self._root).parents)][1:]:
                there = self._root / folder
                if there.is_symlink():
                    raise TaskError(f"{path}: lies below the link {folder}")
                there.mkdir(exist_ok=True)
                self._known.add(there)
        return full
