"""The verifier's version: a digest of all code of agentgym and the author that decides.

The digest covers agentgym's version, the task's ``checks`` folder, the packs its rubric names, and
of `task.toml` what decides too: `abstain` and the time limit of the grading.
It is recomputed only if one of those files has changed. For a task of another format it covers the
parts that the format names.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from agentgym import catalogue
from agentgym.errors import ConfigError
from agentgym.manifest import parse_toml
from agentgym.protocols import TaskRules
from agentgym.records import Verdict
from agentgym.regular_file import DATA_BYTES, read_regular
from agentgym.task.model import Task
from agentgym.task_formats import plugin_errors

DIGITS = 12
_File: TypeAlias = tuple[str, str, int, int, int]
"""Name in the digest, path, and the signs of a change: size, time of change, inode."""


def verifier_version(task: Task) -> str:
    """Return the version of a task's verifier, as 12 hexadecimal digits.

    Equal versions judge equally. The version changes with agentgym's version and with every byte of
    the checks. An unreadable rubric has a version too.
    """
    if task.foreign is not None:
        with plugin_errors(f"task format {task.foreign.format!r}: no verifier of {task.id}"):
            return _rules_version(task.foreign.rules)
    folder = task.folder / "checks"
    measuring = ("checks/calibration.toml",)
    files = tuple(file for file in _files("checks", folder) if file[0] not in measuring)
    for name in _packs(files, str(folder / "rubric.toml")):
        try:
            pack = catalogue.find("verifiers", name)
        except ConfigError:  # the rubric is refused for it; its version then leaves this pack out
            continue
        files += tuple(file for file in _files(name, pack) if file[0] not in _cases(name))
    settings = (task.manifest.abstain, task.manifest.grading.timeout_s)
    return _digest(_agentgym_version(), settings, files)


def versioned(verdict: Verdict, task: Task) -> Verdict:
    """Return a verdict with the version of the task's verifier, if it is scored and has none."""
    if verdict.verifier or not verdict.scored:
        return verdict
    return replace(verdict, verifier=verifier_version(task))


def _rules_version(rules: TaskRules) -> str:
    digest = hashlib.sha256(_agentgym_version().encode())
    for name, content in rules.verifier_parts():
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:DIGITS]


def _agentgym_version() -> str:
    # The package's top module belongs to a higher layer, so it is looked up, not imported.
    version: str = sys.modules["agentgym"].__version__
    return version


@functools.lru_cache(maxsize=256)
def _digest(agentgym_version: str, settings: tuple[bool, float], files: tuple[_File, ...]) -> str:
    contents = {name: hashlib.sha256(_read(path)).hexdigest() for name, path, *_ in files}
    whole = json.dumps([agentgym_version, settings, contents], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:DIGITS]


def _files(name: str, folder: Path) -> Iterator[_File]:
    """Yield the files below a folder, by path; hidden files and bytecode are left out."""
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != "__pycache__" and not f.startswith("."))
        for file in sorted(n for n in names if not n.startswith(".")):
            path = os.path.join(root, file)
            try:
                stat = os.stat(path)
            except OSError:  # a link that leads nowhere
                stat = os.lstat(path)
            label = f"{name}/{os.path.relpath(path, folder)}"
            yield label, path, stat.st_size, max(stat.st_mtime_ns, stat.st_ctime_ns), stat.st_ino


def _cases(pack: str) -> tuple[str, ...]:
    """Return the files that measure a pack and do not affect its verdicts."""
    return f"{pack}/calibration.toml", f"{pack}/samples.py"


def _packs(files: tuple[_File, ...], rubric: str) -> tuple[str, ...]:
    return next((_named(file) for file in files if file[1] == rubric), ())


@functools.lru_cache(maxsize=256)
def _named(rubric: _File) -> tuple[str, ...]:
    """Return the sorted names of the packs that a rubric uses; empty if it is not valid TOML."""
    try:
        uses = set(_uses(parse_toml(_read(rubric[1]).decode())))
    except (ValueError, RecursionError):
        return ()
    return tuple(sorted({use.partition(".")[0] for use in uses} - {"checks"}))


def _uses(value: Any) -> Iterator[str]:
    """Yield every ``use`` of a rubric, at any depth."""
    if isinstance(value, dict):
        if isinstance(value.get("use"), str):
            yield value["use"]
        value = [inner for key, inner in value.items() if key != "with"]
    if isinstance(value, list):
        for inner in value:
            yield from _uses(inner)


def _read(path: str) -> bytes:
    try:
        return read_regular(Path(path), DATA_BYTES)
    except OSError:  # removed or closed since it was listed; its reader reports that
        return b""
