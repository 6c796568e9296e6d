"""Reads and validates task folders; one error reports everything that is wrong with a folder."""

from __future__ import annotations

import os
import shlex
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from agentgym import catalogue, plugins, task_formats
from agentgym.errors import TaskError, close_matches
from agentgym.manifest import load_toml, locate, read_text, show_path
from agentgym.regular_file import read_regular
from agentgym.task.foreign import load_foreign
from agentgym.task.model import MUTANT_SUFFIXES, Task, TaskManifest, visible
from agentgym.task.reference_actions import (
    SOLUTIONS,
    SURFACE_ENDS,
    read_reference,
    solution,
)
from agentgym.task.reference_policy import parse_policy
from agentgym.task.template import draw, fill_json
from agentgym.task.user import FILE, UserScript
from agentgym.task.user_loading import load_user

_ENTRIES = (
    *("task.toml", "instruction.md", "user.toml"),
    *("setup", "solution", "checks", "mutants", "events"),
)


def find_task(task_id: str) -> Task:
    """Return the task with an id, which may lack its version, or in the folder with a path.

    Raises:
        NotFoundError: No task has the id.
        TaskError: The folder is broken.
    """
    return load_folder(catalogue.path_of(task_id) or _folder_of(task_id))


def _folder_of(task_id: str) -> Path:
    return catalogue.find("tasks", catalogue.with_version(task_id))


def load_folder(folder: Path) -> Task:
    """Read a task folder of any format: agentgym's, or one of an installed task format.

    Raises:
        TaskError: The folder is broken.
        PluginError: Its format is broken.
    """
    _must_exist(folder)
    catalogue.keep_private(folder)
    found = task_formats.find_format(folder)
    return load_task(folder) if found is None else load_foreign(folder, found)


def load_task(folder: Path) -> Task:
    """Read a task folder.

    Args:
        folder: ``<suite>/<name>``, at any place.

    Raises:
        TaskError: One line for each problem, with file, line and field if known.
    """
    folder = Path(os.path.abspath(folder))
    _must_exist(folder)
    return _load(folder, tuple(_files(folder)))


def _must_exist(folder: Path) -> None:
    # Unlike Path.is_dir, this is also False for a path that no file system can hold.
    if not os.path.isdir(folder):
        raise TaskError(f"{show_path(folder)}: expected a task folder, found none")


def _files(folder: Path) -> Iterator[tuple[str, int, int, int]]:
    """Yield path, size and times of every file below a folder; they show whether it changed."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            found = os.lstat(path)
            yield path, found.st_mtime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=1024)
def _load(folder: Path, files: tuple[tuple[str, int, int, int], ...]) -> Task:
    """Read a task folder; cached, because a command reads the same task several times."""
    problems = list(_layout(folder))
    try:
        manifest = load_toml(folder / "task.toml", TaskManifest, TaskError)
    except TaskError as error:
        raise TaskError("\n".join([str(error), *problems])) from error
    problems += _solved(folder, manifest)
    problems += _id(folder, manifest)
    problems += _world(folder, manifest)
    user: UserScript | None = None
    try:
        user = _user(folder, manifest)
    except TaskError as error:
        problems.append(str(error))
    if not problems:
        instruction = read_text(folder / "instruction.md", TaskError)
        task = Task(manifest.id, folder, manifest, instruction, user=user)
        problems += _content(task)
    if problems:
        raise TaskError("\n".join(problems))
    return task


def _layout(folder: Path) -> Iterator[str]:
    yield from _unknown(folder, _ENTRIES)
    required = ["instruction.md", "checks/rubric.toml"]
    if (folder / "setup").exists() and not (folder / "setup" / "services.py").is_file():
        required.append("setup/setup.sh")
    for name in required:
        if not (folder / name).is_file():
            yield f"{show_path(folder / name)}: required, but absent"
    known = [f"{name}{end}" for name in plugins.names("agentgym.surfaces") for end in SURFACE_ENDS]
    yield from _unknown(folder / "solution", (*SOLUTIONS, *known))
    names: dict[str, Path] = {}
    for path in visible(folder / "mutants"):
        if path.suffix not in MUTANT_SUFFIXES:
            yield f"{show_path(path)}: expected a mutant in a .sh, .jsonl, .patch or .py file"
        elif path.stem in names:
            yield f"{show_path(path)}: expected another name, {names[path.stem].name} has it too"
        names.setdefault(path.stem, path)
    yield from _foreign_lines(folder)


def _foreign_lines(folder: Path) -> Iterator[str]:
    """Yield a problem for each script that an editor of Windows has saved: bash cannot run it."""
    scripts = [folder / "setup" / "setup.sh", *(folder / "mutants").glob("*.patch")]
    for name in ("solution", "events", "mutants"):
        scripts += (folder / name).glob("*.sh")
    for path in sorted(scripts):
        text = b""
        with suppress(OSError):  # Its reader reports it.
            text = read_regular(path)
        shown = show_path(path)
        if text.startswith(BOM_UTF8):
            yield f"{shown}:1: expected UTF-8 without a byte order mark"
        if text.partition(b"\n")[0].endswith(b"\r"):
            mend = f"sed -i 's/\\r$//' {shlex.quote(shown)}"
            yield f"{shown}:1: expected lines that end with LF, got CRLF; run: {mend}"


def _unknown(folder: Path, known: Sequence[str]) -> Iterator[str]:
    for path in visible(folder):
        if path.name not in known:
            matches = close_matches(path.name, known, limit=1)
            hint = f"did you mean {matches[0]!r}?" if matches else f"known: {', '.join(known)}"
            yield f"{show_path(path)}: unknown entry; {hint}"


def _solved(folder: Path, manifest: TaskManifest) -> Iterator[str]:
    """Yield a problem if the task has not exactly one solution, or has one and calls it missing."""
    found = [name for name in SOLUTIONS if (folder / "solution" / name).is_file()]
    if len(found) != (0 if manifest.unsolved else 1):
        seen = " and ".join(found) or "none of them"
        expected = f"one of {', '.join(SOLUTIONS)}"
        if manifest.unsolved:
            expected = "no solution, because task.toml has unsolved = …"
        yield f"{show_path(folder / 'solution')}: expected {expected}, found {seen}"


def _id(folder: Path, manifest: TaskManifest) -> Iterator[str]:
    expected = f"{folder.parent.name}/{folder.name}"
    if manifest.id.rpartition("-v")[0] != expected:
        path = folder / "task.toml"
        line = locate(read_text(path, TaskError), ("id",))
        yield (
            f"{show_path(path)}:{line}: id: expected '{expected}-vN' after the folder, "
            f"got {manifest.id!r}"
        )


def _world(folder: Path, manifest: TaskManifest) -> Iterator[str]:
    """Yield problems of events and faults that are not visible in one table alone."""
    if not manifest.event and not manifest.fault:
        return
    path = folder / "task.toml"
    text = read_text(path, TaskError)

    def problem(what: str, *at: str | int) -> str:
        return f"{show_path(path)}:{locate(text, at)}: {'.'.join(map(str, at))}: {what}"

    tables = [("event", i, event.id) for i, event in enumerate(manifest.event)]
    tables += [("fault", i, fault.id) for i, fault in enumerate(manifest.fault)]
    seen: set[str] = set()
    for kind, index, id in tables:
        if id in seen:
            yield problem(f"expected another id, {id!r} is taken", kind, index, "id")
        seen.add(id)
    params = draw(manifest.params, 0)
    texts = [("event", i, "announce", event.announce) for i, event in enumerate(manifest.event)]
    texts += [("fault", i, "message", fault.message) for i, fault in enumerate(manifest.fault)]
    for kind, index, field, template in texts:
        try:
            fill_json(template, params, "")
        except TaskError as error:
            yield problem(str(error).removeprefix(": "), kind, index, field)
    for index, event in enumerate(manifest.event):
        if event.run is not None and not (folder / event.run).is_file():
            yield problem(f"no such file: {show_path(folder / event.run)}", "event", index, "run")


def _user(folder: Path, manifest: TaskManifest) -> UserScript | None:
    if manifest.user is not None:
        return load_user(
            folder / manifest.user.script, draw(manifest.params, 0), manifest.user.reply
        )
    if (folder / FILE).exists():
        raise TaskError(f"{show_path(folder / FILE)}: unused; expected [user] in task.toml")
    return None


def _content(task: Task) -> Iterator[str]:
    """Yield problems of the texts; one seed is enough, as all seeds have the same slots."""
    if not task.instruction.strip():
        yield f"{show_path(task.folder / 'instruction.md')}: expected text, got an empty file"
    try:
        instance = task.instance(0)
    except TaskError as error:
        yield str(error)
        return
    own = [path for path in visible(task.folder / "solution") if path.name not in SOLUTIONS]
    solved = () if task.manifest.unsolved else (solution(task),)
    for path in (*solved, *own, *task.mutants().values()):
        try:
            found = read_reference(path, instance)
            if isinstance(found, Path):
                parse_policy(found)
        except TaskError as error:
            yield str(error)
