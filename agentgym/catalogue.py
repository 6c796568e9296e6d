"""The search path, and the envs, tasks, verifiers and sandboxes found on it by name.

A catalogue grows by adding a folder. Bundled folders come first, then imported ones, then those of
AGENTGYM_PATH, then those of the working directory. A name belongs to the first of these that has
it; a folder elsewhere replaces it only if AGENTGYM_SHADOW names it. Among the entries of
AGENTGYM_PATH, which the user put in order, the last one wins.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from filecmp import cmp
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, TypeAlias

from agentgym import task_formats
from agentgym.errors import ConfigError, NotFoundError, PluginError, TaskError
from agentgym.regular_file import read_regular

Kind: TypeAlias = Literal["envs", "tasks", "verifiers", "sandboxes"]

_NOUNS: dict[Kind, str] = {
    "envs": "environment",
    "tasks": "task",
    "verifiers": "check pack",
    "sandboxes": "sandbox recipe",
}
_MARKERS: dict[Kind, str] = {
    "envs": "env.toml",
    "tasks": "task.toml",
    "verifiers": "checks.py",
    "sandboxes": "recipe.toml",
}
"""The file that marks a folder as agentgym's: other programs keep `envs` or `tasks` as well."""

SHADOW = "AGENTGYM_SHADOW"
"""Names the folders that may replace others: ``verifiers/files,tasks/mine/*``."""

_log = logging.getLogger(__name__)

_VERSION = re.compile(r"""^[ \t]*id[ \t]*=[ \t]*["'][^"'\n]*-v([1-9][0-9]*)["']""", re.MULTILINE)
_ENDING = re.compile(r"-v\d+$")


def search_path() -> tuple[Path, ...]:
    """Return the folders that may hold catalogues, each once, lowest precedence first.

    Raises:
        ConfigError: An entry of AGENTGYM_PATH is not a folder.
    """
    return tuple(_roots())


def _roots() -> dict[Path, str]:
    """Return the folders of the search path, with the name of what put each there."""
    imported, here = None, ""
    with suppress(ConfigError):  # the code that needs the cache reports the error
        imported = imported_dir() if imported_dir().is_dir() else None
    with suppress(FileNotFoundError):  # the working directory may have been deleted
        here = os.getcwd()
    return _resolved(imported, os.environ.get("AGENTGYM_PATH", ""), here)


@functools.lru_cache(maxsize=64)
def _resolved(imported: Path | None, entries: str, here: str) -> dict[Path, str]:
    """Return the folders of a search path; every episode asks for them several times."""
    package = Path(__file__).resolve().parent
    in_wheel = package / "_catalogues"
    roots = [(in_wheel if in_wheel.is_dir() else package.parent, "bundled")]
    if imported is not None:
        roots.append((imported, "imported"))
    for entry in filter(None, entries.split(os.pathsep)):
        root = Path(entry).expanduser()
        if not root.is_dir():
            raise ConfigError(
                f"AGENTGYM_PATH names {entry!r}, which is not a folder; "
                "correct the path or take it out of AGENTGYM_PATH"
            )
        roots.append((root, "AGENTGYM_PATH"))
    if here:
        roots.append((Path(here), "working directory"))
    found: dict[Path, str] = {}
    for root, origin in roots:
        found.setdefault(root.resolve(), origin)
    return found


_named: set[Path] = set()
"""Folders of the tasks that this process has loaded."""


def keep_private(folder: Path) -> None:
    """Remember a task's folder, which may lie outside every catalogue, as private."""
    resolved = folder.resolve()
    # Guests see only /usr of the host; thousands of other folders need not be remembered.
    if resolved.is_relative_to("/usr"):
        _named.add(resolved)


def private_folders() -> tuple[Path, ...]:
    """Return the folders that no guest may see: this package, catalogues, the cache.

    A checkout is private as a whole, and so are the virtual environment around this package and
    the folder of every task that this process has loaded.
    """
    package = Path(__file__).resolve().parent
    found = [package, *_named]
    if sys.prefix != sys.base_prefix:
        found.append(Path(sys.prefix))
    with suppress(ConfigError):
        found.append(cache_dir())
    for root in search_path():
        is_checkout = (root / "pyproject.toml").is_file() and (root / "tasks").is_dir()
        found += [root] if is_checkout else [root / kind for kind in _MARKERS]
    return tuple(found)


def cache_dir() -> Path:
    """Return the folder of this user's prepared tasks and layers; it may not exist yet.

    Raises:
        ConfigError: AGENTGYM_CACHE is relative to a working directory that is gone, or this user
            has neither a home nor that variable.
    """
    if chosen := os.environ.get("AGENTGYM_CACHE"):
        try:
            return Path(chosen).expanduser().absolute()
        except FileNotFoundError as error:
            raise ConfigError(
                f"AGENTGYM_CACHE is {chosen!r}, below a working directory that was deleted; "
                "give an absolute path"
            ) from error
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).absolute() / "agentgym"
    # Sandboxes of root run under another user id, which may not enter root's home.
    if os.geteuid() == 0:
        return Path("/var/cache/agentgym")
    try:
        return Path.home() / ".cache" / "agentgym"
    except RuntimeError as error:  # a user id without an account, as in containers
        raise ConfigError(
            "this user has no home folder; set AGENTGYM_CACHE to a folder for prepared tasks"
        ) from error


def imported_dir() -> Path:
    """Return the catalogue that `agentgym suite import` writes; it may not exist yet.

    Raises:
        ConfigError: For the same reason as `cache_dir`.
    """
    return cache_dir() / "imported"


def folders(kind: Kind) -> dict[str, Path]:
    """Return every folder of a catalogue by name, sorted.

    The name of a task is its id, ``suite/name-vN``. A task whose `task.toml` states no version is
    listed as ``suite/name``, so that loading it can report the error. Folders that may not
    replace another of their name are left out; `find` reports them.
    """
    found = {name: _choose(kind, name, there)[0] for name, there in _places(kind).items()}
    if kind == "tasks":
        found = {name + _version(folder): folder for name, folder in found.items()}
    return dict(sorted(found.items()))


def _places(kind: Kind) -> dict[str, list[Path]]:
    """Return all folders of each name, in the order of the search path."""
    pattern = "*/*" if kind == "tasks" else "*"
    found: dict[str, list[Path]] = {}
    for root in search_path():
        for marker in (root / kind).glob(f"{pattern}/{_MARKERS[kind]}"):
            name = marker.parent.relative_to(root / kind).as_posix()
            found.setdefault(name, []).append(marker.parent)
    return found


def find(kind: Kind, name: str) -> Path:
    """Return the folder with a name.

    Raises:
        NotFoundError: No folder on the search path has the name.
        ConfigError: Several have it, and the last may not replace the others.
    """
    stem = without_version(name) if kind == "tasks" else name
    if stem.count("/") == (kind == "tasks") and ".." not in stem:
        # It looks into one folder of each root, not into all, because gradings look up every check.
        roots = [root / kind / stem for root in search_path()]
        if there := [folder for folder in roots if os.path.exists(folder / _MARKERS[kind])]:
            folder = sole(kind, stem, there)
            if kind != "tasks" or stem + _version(folder) == name:
                return folder
    known = folders(kind)
    if name not in known:
        raise _not_found(kind, name, list(known))
    return known[name]


def sole(kind: Kind, name: str, there: Sequence[Path]) -> Path:
    """Return the folder that counts among those of one name.

    Args:
        kind: Kind of the folders.
        name: Name of the folders, a task's without its version.
        there: The folders, in the order of the search path; at least one.

    Raises:
        ConfigError: A folder would replace another of this name without permission.
    """
    chosen, refused = _choose(kind, name, there)
    if refused is not None:
        raise ConfigError(
            f"{_NOUNS[kind]} {name!r} of the {origin(refused)} ({refused}) would replace the "
            f"{origin(chosen)} one ({chosen}), and its Python would run in place of that; rename "
            f"it, work elsewhere, or ask for it: export {SHADOW}={kind}/{name}"
        )
    return chosen


def _choose(kind: Kind, name: str, there: Sequence[Path]) -> tuple[Path, Path | None]:
    """Return the folder that counts, and one that may not replace it or None."""
    chosen = there[0]
    for folder in there[1:]:
        if _asked_to_shadow(kind, name):
            _tell(kind, name, folder, chosen)
        elif origin(folder) != "AGENTGYM_PATH" or origin(chosen) != "AGENTGYM_PATH":
            if _same(chosen, folder):
                continue  # a checkout of the installed package
            return chosen, folder
        chosen = folder
    return chosen, None


def _asked_to_shadow(kind: Kind, name: str) -> bool:
    patterns = os.environ.get(SHADOW, "").replace(",", " ").split()
    return any(fnmatchcase(f"{kind}/{name}", pattern) for pattern in patterns)


@functools.cache
def _tell(kind: Kind, name: str, folder: Path, replaced: Path) -> None:
    _log.warning(
        "warning: %s %r is %s in place of %s, as %s asks",
        *(_NOUNS[kind], name, folder, replaced, SHADOW),
    )


def origin(folder: Path) -> str:
    """Return what put the root of a folder on the search path."""
    roots = _roots()
    return next((roots[parent] for parent in folder.parents if parent in roots), "search path")


@functools.lru_cache(maxsize=256)
def _same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files with the same content."""
    files = [
        {path.relative_to(root) for path in root.rglob("*") if "__pycache__" not in path.parts}
        for root in (one, other)
    ]
    return files[0] == files[1] and all(
        cmp(one / name, other / name, shallow=False)
        for name in files[0]
        if not (one / name).is_dir() or not (other / name).is_dir()
    )


def match_tasks(pattern: str) -> list[str]:
    """Return the sorted ids of the tasks that a user means.

    Args:
        pattern: A suite, a task id, an id without its version, or a glob over ids
            (``"terminal/*"``, ``"*git*"``); or the path of a task folder, or of a folder of
            such folders, which may be in another format than ours (docs/formats.md).

    Raises:
        NotFoundError: Nothing matches.
    """
    if (folder := path_of(pattern)) is not None:
        return _tasks_below(folder)
    ids = list(folders("tasks"))
    suites = {task_id.split("/")[0] for task_id in ids}
    matches = [
        task_id
        for task_id in ids
        if pattern in (task_id, task_id.split("/")[0], without_version(task_id))
        or fnmatchcase(task_id, pattern)
    ]
    if not matches and os.path.isdir(pattern):
        return _tasks_below(Path(os.path.abspath(pattern)))
    if not matches:
        raise _not_found("tasks", pattern, [*suites, *ids])
    return matches


def with_version(name: str, ids: Iterable[str] | None = None) -> str:
    """Return the id of the task that a name without a version means; any other name unchanged.

    Args:
        name: What the user typed.
        ids: The ids among which it is searched; by default those of the catalogues.
    """
    if path_of(name) is not None or _ENDING.search(name):
        return name
    known = folders("tasks") if ids is None else ids
    return next((id for id in known if without_version(id) == name), name)


def without_version(name: str) -> str:
    """Return a task's id without its version."""
    return _ENDING.sub("", name)


def path_of(name: str) -> Path | None:
    """Return the folder that a path names; None if the name is one of a catalogue.

    A path begins with ``/``, ``./``, ``../`` or ``~``, or is ``.`` or ``..``.
    """
    if name in (".", "..") or name.startswith(("/", "./", "../", "~")):
        return Path(os.path.abspath(os.path.expanduser(name)))
    return None


def _tasks_below(folder: Path) -> list[str]:
    """Return the paths of a task folder, or of the task folders in it, sorted.

    Raises:
        NotFoundError: The folder holds no task.
    """
    if is_task(folder):
        return [str(folder)]
    children = sorted(folder.glob("*")) if os.path.isdir(folder) else ()
    found = [str(child) for child in children if is_task(child)]
    if not found:
        formats = ", ".join(task_formats.names())
        hint = (
            f"expected a task folder (agentgym's own has a task.toml; other formats: {formats}), "
            "or a folder of such folders"
        )
        hint = "; ".join((hint, *task_formats.failures(folder)))
        raise NotFoundError("task folder", str(folder), (), hint)
    return found


def is_task(folder: Path) -> bool:
    """Return whether a folder holds a task, in agentgym's own format or in another one."""
    if os.path.isfile(folder / "task.toml"):
        return True
    try:
        return task_formats.find_format(folder) is not None
    except TaskError:  # two formats claim it; loading the task reports that
        return True
    except PluginError:  # a broken format makes no folder a task
        return False


def _version(folder: Path) -> str:
    """Return ``-vN`` as the folder's task.toml states it, or an empty text."""
    try:
        stated = _VERSION.search(read_regular(folder / "task.toml").decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""
    return f"-v{stated[1]}" if stated else ""


def _not_found(kind: Kind, name: str, known: list[str]) -> NotFoundError:
    roots = ", ".join(str(root) for root in search_path())
    if kind == "tasks" and (first := next((t for t in known if t.startswith(f"{name}/")), None)):
        return NotFoundError("task", name, (), f"it is a suite: name one of its tasks, as {first}")
    article = "an" if _NOUNS[kind][0] in "aeiou" else "a"
    hint = f"{article} {_NOUNS[kind]} is a folder with {_MARKERS[kind]} below {kind}/ in: {roots}"
    return NotFoundError(_NOUNS[kind], name, known, hint)
