"""Executes Python files of catalogues and task folders by path, and writes nothing there."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from agentgym.errors import pass_interruptions
from agentgym.manifest import show_path
from agentgym.regular_file import read_regular


def _line_of(raised: BaseException, path: Path) -> str:
    """Return ``:line`` of the place that raises; empty if it lies in another file."""
    if isinstance(raised, SyntaxError):
        return f":{raised.lineno}" if raised.filename == str(path) and raised.lineno else ""
    frames = traceback.extract_tb(raised.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f":{lines[-1]}" if lines else ""


_PREFIX = "_agentgym_"


class _Loader(SourceFileLoader):
    """Executes a source file; neither reads nor leaves bytecode in its folder."""

    def __init__(self, name: str, path: str, source: str | None = None) -> None:
        super().__init__(name, path)
        self._source = source

    def get_data(self, path: str) -> bytes:
        return read_regular(Path(path)) if self._source is None else self._source.encode()

    def get_code(self, fullname: str) -> CodeType:
        return _compiled(self.get_data(self.path), self.path)


@functools.lru_cache(maxsize=1024)
def _compiled(source: bytes, path: str) -> CodeType:
    """Compile once what many tasks execute, such as the policies that they share."""
    return compile(source, path, "exec", dont_inherit=True)


class _Neighbours(MetaPathFinder):
    """Finds what a file that is executed as a package imports from its folder."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PREFIX):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path)
        return spec


sys.meta_path.insert(0, _Neighbours())

_executing = threading.RLock()
"""One file at a time, because its module goes by its name."""


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
    name = f"{_PREFIX}{hashlib.sha256(str(path).encode()).hexdigest()[:16]}"
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
    try:
        spec.loader.exec_module(module)
    except BaseException as raised:
        pass_interruptions(raised)
        # Whatever executing an author's module raises, the module is broken.
        del sys.modules[name]
        what = traceback.format_exception_only(raised)[-1].strip()
        raise error(
            f"{show_path(path)}{_line_of(raised, path)}: cannot be loaded: {what}"
        ) from raised
    return module
