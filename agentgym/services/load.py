"""Loads service folders: ``envs/<env>/services/<name>/`` with ``service.py`` and ``schema.sql``.

A folder is loaded by path, as a package of its own, so that ``service.py`` may import its
neighbours (``from .people import NAMES``).
"""

from __future__ import annotations

import functools
import os
import threading
from pathlib import Path

from agentgym import catalogue
from agentgym.errors import NotFoundError, ServiceError
from agentgym.manifest import show_path
from agentgym.modules import execute
from agentgym.services.backend import ServiceSet
from agentgym.services.service import Service

_loading = threading.Lock()
"""Two threads that load the same folders get the same set."""


def load_services(*folders: Path) -> ServiceSet:
    """Return the services of some folders as one set; the same set until a file changes.

    Args:
        folders: Folders of one service each, or folders that hold such folders.

    Raises:
        ServiceError: No folder holds a service, or a service is broken (code ``internal``).
    """
    found: list[Path] = []
    for folder in folders:
        inside = sorted(path.parent for path in folder.glob("*/service.py"))
        found += [folder] if (folder / "service.py").is_file() else inside
        if not found:
            raise ServiceError(
                "internal", f"{show_path(folder)}: no service.py there nor one folder below"
            )
    with _loading:
        return _load_set(tuple((folder.resolve(), _changed(folder)) for folder in found))


def find_services(*envs: str) -> ServiceSet:
    """Return the services of environments on the search path, as one set.

    Raises:
        NotFoundError: No environment of this name has services.
        ConfigError: Several environments have this name, and the last may not replace the others.
        ServiceError: One of them is broken, or two have one name (code ``internal``).
    """
    return load_services(*map(_folder_of, envs))


def _folder_of(env: str) -> Path:
    roots = catalogue.search_path()
    there = [root / "envs" / env / "services" for root in roots if "/" not in env]
    if found := [folder for folder in there if any(folder.glob("*/service.py"))]:
        return catalogue.sole("envs", env, found)
    known = {path.parts[-4] for root in roots for path in root.glob("envs/*/services/*/service.py")}
    hint = "services are folders with service.py below envs/<env>/services/"
    raise NotFoundError("environment with services", env, known, hint)


@functools.lru_cache(maxsize=32)
def _load_set(folders: tuple[tuple[Path, int], ...]) -> ServiceSet:
    names = [folder.name for folder, _ in folders]
    for name in names:
        if names.count(name) > 1:
            raise ServiceError("internal", f"two services have the name {name!r}")
    return ServiceSet({folder.name: _load(folder) for folder, _ in folders})


def _changed(folder: Path) -> int:
    with os.scandir(folder) as entries:
        files = [each for each in entries if each.name.endswith((".py", ".sql", ".json"))]
        return hash(tuple(sorted((each.name, each.stat().st_mtime_ns) for each in files)))


def _load(folder: Path) -> type[Service]:
    path = folder / "service.py"
    module = execute(path, functools.partial(ServiceError, "internal"), is_package=True)
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Service) and value is not Service
        if value.__module__ == module.__name__ and not value.__name__.startswith("_")
    ]
    if len(classes) != 1:
        names = ", ".join(sorted(c.__name__ for c in classes)) or "none"
        raise ServiceError(
            "internal", f"{show_path(path)}: expected one subclass of Service, got {names}"
        )
    (service,) = classes
    schema = folder / "schema.sql"
    if schema.is_file():
        service.schema = schema.read_text(encoding="utf-8")
    return service
