"""Executes Python files of catalogues and task folders by path, and writes nothing there."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import threading
import traceback
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from agentgym.manifest import show_path
from agentgym.regular_file import read_regular


def _line_of(raised: Exception, path: Path) -> str:
    """Return ``:line`` of the place that raises; empty if it lies in another file."""
    if isinstance(raised, SyntaxError):
        return f":{raised.lineno}" if raised.filename == str(path) and raised.lineno else ""
    frames = traceback.extract_tb(raised.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f":{lines[-1]}" if lines else ""


class _Loader(SourceFileLoader):
    """Executes a source file and leaves no bytecode in its folder, which is its author's."""

    def __init__(self, name: str, path: str, source: str | None) -> None:
        super().__init__(name, path)
        self._source = source

    def get_data(self, path: str) -> bytes:
        return read_regular(Path(path)) if self._source is None else self._source.encode()

    def set_data(self, path: str, data: object, *, _mode: int = 0o666) -> None:
        pass


_executing = threading.RLock()
"""One file at a time: its module goes by its name, and `sys` is changed meanwhile."""


def execute(
    path: Path,
    error: Callable[[str], Exception],
    *,
    is_package: bool = False,
    source: str | None = None,
) -> ModuleType:
    """Execute a Python file as a module of its own; every call executes it anew.

    Other threads that call this meanwhile wait.

    Args:
        path: The file.
        error: Creates the exception for a description of what is wrong with the file.
        is_package: Whether it may import its neighbours (``from .people import NAMES``).
        source: Text to execute in place of the file's own.

    Raises:
        Exception: The exception that `error` creates, if executing the file raised.
    """
    name = f"_agentgym_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
    with _executing:
        return _execute(name, path, error, is_package, source)


def _execute(
    name: str,
    path: Path,
    error: Callable[[str], Exception],
    is_package: bool,
    source: str | None,
) -> ModuleType:
    # A copy, because another thread may import something meanwhile.
    for loaded in list(sys.modules):
        if loaded == name or loaded.startswith(f"{name}."):
            del sys.modules[loaded]
    spec = importlib.util.spec_from_file_location(
        name,
        path,
        loader=_Loader(name, str(path), source),
        submodule_search_locations=[str(path.parent)] if is_package else None,
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name while it is being executed.
    sys.modules[name] = module
    # The usual loader loads what a package imports from its own folder.
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except Exception as raised:
        # Whatever executing an author's module raises, the module is broken.
        del sys.modules[name]
        what = traceback.format_exception_only(raised)[-1].strip()
        raise error(
            f"{show_path(path)}{_line_of(raised, path)}: cannot be loaded: {what}"
        ) from raised
    finally:
        sys.dont_write_bytecode = writes_none
    return module
