"""A Git folder of ours over the objects and branches of a stranger's clone.

Git opens what a clone's configuration names (``include.path``, ``mailmap.file``), and the
attributes and mail map of its working tree, whatever kind of file they are. Through this folder it
finds none of them: it has neither the clone's configuration nor a working tree.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from agentgym.errors import TaskError
from agentgym.manifest import show_path
from agentgym.regular_file import read_regular
from agentgym.scratch import scratch_folder
from agentgym.swe.git_process import run_git

_CONFIG_S: Final = 30.0
_MOST_TEXT: Final = 1 << 16
_MOST_CONFIG: Final = 4 << 20
_LINKED: Final = ("refs", "packed-refs", "reftable", "shallow")
_KEPT: Final = ("extensions.objectformat", "extensions.refstorage")


@dataclass(frozen=True, slots=True)
class GitFolders:
    """The folders in which Git keeps a clone.

    Attributes:
        own: The folder with ``HEAD``: of the clone, or of one of its working trees.
        common: The folder with objects, branches and configuration.
    """

    own: Path
    common: Path


def git_folders(path: Path) -> GitFolders:
    """Return the folders of a clone, by its working tree or its Git folder.

    Raises:
        TaskError: It is no clone.
    """
    own = path / ".git" if os.path.lexists(path / ".git") else path
    if own.is_file():  # A working tree elsewhere: gitdir: FOLDER
        own = own.parent / _line(own).removeprefix("gitdir:").strip()
    told = _line(own / "commondir")
    common = own / told if told else own
    if not (common / "objects").is_dir() or not _line(own / "HEAD"):
        raise TaskError(
            f"{show_path(path)}: not a git repository; expected the top folder of a clone"
        )
    return GitFolders(own, common)


@contextmanager
def git_view(folders: GitFolders) -> Iterator[Mapping[str, str]]:
    """Make the folder, and yield the environment variables with which Git reads it."""
    stated = settings(folders)
    kept = "".join(f"\t{key.partition('.')[2]} = {stated[key]}\n" for key in _KEPT if key in stated)
    version = 1 if kept else 0
    with scratch_folder("clone") as name:
        view = Path(name)
        (view / "config").write_text(
            f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n[extensions]\n{kept}"
        )
        (view / "HEAD").write_text(f"{_line(folders.own / 'HEAD')}\n")
        for each in _LINKED:
            if os.path.lexists(folders.common / each):
                (view / each).symlink_to((folders.common / each).absolute())
        objects = (folders.common / "objects").absolute()
        yield {"GIT_DIR": name, "GIT_OBJECT_DIRECTORY": str(objects)}


def settings(folders: GitFolders) -> Mapping[str, str]:
    """Return the values of a clone's own configuration; what it includes is not read."""
    config = folders.common / "config"
    try:
        changed_ns = config.stat().st_mtime_ns
    except OSError:
        return {}
    return _settings(config.absolute(), changed_ns)


@functools.lru_cache(maxsize=64)
def _settings(config: Path, changed_ns: int) -> Mapping[str, str]:
    try:
        written = read_regular(config, _MOST_CONFIG)
    except (OSError, ValueError) as error:
        raise TaskError(f"{show_path(config)}: {error}") from None
    argv = ["git", "config", "--file", "-", "--no-includes", "--null", "--list"]
    env = {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "LC_ALL": "C.UTF-8",
        "HOME": "/nonexistent",
        "GIT_DIR": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    code, output, said = run_git(argv, env, written, _CONFIG_S)
    if code:
        raise TaskError(f"{show_path(config)}: {said.strip()[:300] or f'exit code {code}'}")
    stated = {}
    for entry in output.decode("utf-8", "replace").split("\0"):
        key, has_value, value = entry.partition("\n")
        if key in _KEPT and not value.isalnum():
            raise TaskError(f"{show_path(config)}: {key} is {value[:80]!r}; expected a name")
        if has_value:
            stated[key] = value
    return MappingProxyType(stated)


def _line(file: Path) -> str:
    """Return the first line of a file; empty if there is no such regular file."""
    try:
        text = read_regular(file, _MOST_TEXT).decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""
    return text.partition("\n")[0].strip()
