"""Check packs: folders ``verifiers/<pack>/`` with documented check functions.

The module owns the file format ``agentgym.pack/1``. It loads check modules by path (a pack's, or
the ``checks.py`` beside a task's rubric) and defines which functions in them are checks. A check
module may import the modules beside it, so a large pack has a module for each subject.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from agentgym import catalogue
from agentgym.errors import NotFoundError, VerifierError
from agentgym.manifest import Manifest, load_toml, show_path
from agentgym.modules import execute
from agentgym.protocols import Check

OWN = "checks"
"""Name in ``use`` of the task's own ``checks/checks.py``; no pack may have this name."""


class PackManifest(Manifest):
    """The whole of ``pack.toml``."""

    schema_version: Literal["agentgym.pack/1"]
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    version: str = Field(pattern=r"^\d+\.\d+\.\d+$")
    summary: str = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Pack:
    """A check pack: its metadata, and its checks by name."""

    name: str
    version: str
    summary: str
    checks: Mapping[str, Check]


def load_pack(folder: Path) -> Pack:
    """Load a pack folder.

    Raises:
        VerifierError: ``pack.toml`` or ``checks.py`` is broken or missing.
    """
    path = folder / "pack.toml"
    manifest = _load_manifest(path, _changed_ns(path))
    if manifest.name != folder.name or manifest.name == OWN:
        raise VerifierError(
            f"{show_path(path)}: name: expected {folder.name!r}, the folder's name, "
            f"and not {OWN!r}; got {manifest.name!r}"
        )
    checks = load_checks(folder / "checks.py")
    return Pack(manifest.name, manifest.version, manifest.summary, checks)


def load_checks(path: Path) -> Mapping[str, Check]:
    """Return the checks of a module: its plain functions without a leading underscore.

    They are its own, or those of a module beside it (``from .workbooks import cells``). A module
    is executed once, and again only after a module of its folder has changed.

    Raises:
        VerifierError: The file is missing, or executing it raised.
    """
    return _load(path.absolute(), (_changed_ns(path), *_modules_beside(path.parent)))


def find_check(use: str, checks_folder: Path) -> Check:
    """Return the function that a ``use`` names.

    Args:
        use: ``pack.function``, or ``checks.function`` for the task's own.
        checks_folder: The task's ``checks`` folder.

    Raises:
        VerifierError: No such pack or function (with the close match), or a broken module.
    """
    pack_name, _, name = use.partition(".")
    try:
        if pack_name == OWN:
            checks = load_checks(checks_folder / "checks.py")
        else:
            checks = load_pack(catalogue.find("verifiers", pack_name)).checks
        if name not in checks:
            raise NotFoundError(f"check in {pack_name!r}", name, checks)
    except NotFoundError as error:
        raise VerifierError(f"use = {use!r}: {error}") from None
    return checks[name]


def check_arguments(use: str, check: Check, arguments: Mapping[str, object]) -> None:
    """Validate a rubric's ``with`` against a check's signature.

    Raises:
        VerifierError: An argument is unknown or missing, or is a string for a parameter that takes
            a list: its letters would count as elements and might match nothing.
    """
    signature = inspect.signature(check)
    try:
        signature.bind(None, **dict.fromkeys(arguments))
    except TypeError as error:
        takes = ", ".join(str(parameter) for parameter in signature.parameters.values())
        raise VerifierError(f"use = {use!r}: {error}; it is {use}({takes})") from None
    for name, value in arguments.items():
        parameter = signature.parameters.get(name)
        if isinstance(value, str) and parameter is not None and _is_of_texts(parameter.annotation):
            raise VerifierError(f"use = {use!r}: {name}: expected a list, got {value!r}")


def _is_of_texts(annotation: object) -> bool:
    # A string, unless `from __future__ import annotations` is missing in the check's module.
    return str(annotation).removeprefix("collections.abc.") in ("Sequence[str]", "list[str]")


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError as error:
        raise VerifierError(
            f"{show_path(path)}: {error.strerror}; a rubric uses checks from it"
        ) from None


def _modules_beside(folder: Path) -> list[tuple[str, int]]:
    """Return the modules of a folder with the times at which they changed, by name."""
    found = []
    # A folder may be closed to this user, a link lead to nothing, a file be removed meanwhile.
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                with contextlib.suppress(OSError):
                    found.append((entry.name, entry.stat().st_mtime_ns))
    return sorted(found)


@functools.lru_cache(maxsize=256)
def _load_manifest(path: Path, changed_ns: int) -> PackManifest:
    return load_toml(path, PackManifest, VerifierError)


@functools.lru_cache(maxsize=256)
def _load(path: Path, changed: tuple[object, ...]) -> Mapping[str, Check]:
    module = execute(path, VerifierError, is_package=True)
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and f"{value.__module__}.".startswith(f"{module.__name__}.")
        and not name.startswith("_")
    }
