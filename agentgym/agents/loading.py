"""Loads agents of a user's own, given as ``python:MODULE:CLASS`` or ``FILE.py:CLASS``.

``?name=value&…`` after the class become keyword arguments, as text. A file is imported once in a
process, with its folder on the import path, as with ``python FILE.py``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final
from urllib.parse import parse_qsl

from agentgym.errors import ConfigError, close_matches, pass_interruptions

PREFIX: Final = "python"
HOW: Final = "an agent of your own: ./FILE.py:CLASS or python:MODULE:CLASS (docs/agents.md)"
_ACT: Final = "a method act(self, observation, tools, history)"


@dataclass(frozen=True, slots=True)
class Source:
    """Factory of agents of a user's own class.

    Attributes:
        make: Creates an agent for one episode.
        module: Name of the module that holds the class: errors raised there are the agent's own.
        privileged: Whether its agents ask for the reference actions of the task.
        spec: As the user wrote it, for messages.
    """

    make: Callable[[], object]
    module: str
    privileged: bool
    spec: str


def is_own(spec: str) -> bool:
    """Return whether a spec names a class in a module or a file, not an installed agent."""
    head = spec.partition(":")[0].partition("?")[0]
    return head == PREFIX or head.endswith(".py") or os.sep in head


@functools.cache
def find_source(spec: str) -> Source:
    """Import the class that a spec names.

    Raises:
        ConfigError: The file or module cannot be imported, or has no such class.
    """
    place, _, query = spec.partition("?")
    head, _, name = place.removeprefix(f"{PREFIX}:").rpartition(":")
    if not head:
        head, name = name, ""
    if place.startswith(f"{PREFIX}:"):
        if not (head and name):
            raise ConfigError(f"agent {spec!r}: expected python:MODULE:CLASS")
        module = _imported(spec, lambda: _import_module(head))
    else:
        module = _imported(spec, lambda: _import_file(spec, Path(head)))
    factory = _find(module, name, spec)
    arguments = dict(parse_qsl(query, keep_blank_values=True))
    return source_of(functools.partial(factory, **arguments) if arguments else factory, spec)


def source_of(factory: Callable[..., object], spec: str) -> Source:
    """Return the source of a class, or of a function that creates agents.

    Raises:
        ConfigError: The object is a class without `act`, or an agent that exists already.
    """
    made_by = factory.func if isinstance(factory, functools.partial) else factory
    if not callable(factory):
        told = (
            f"it is an object of {type(factory).__name__}; give the class: every episode makes one"
        )
        raise ConfigError(f"agent {spec!r}: {told}")
    if isinstance(made_by, type) and not callable(getattr(made_by, "act", None)):
        raise ConfigError(f"agent {spec!r}: {made_by.__name__} is not an agent: it needs {_ACT}")
    if isinstance(made_by, FunctionType) and not _takes_nothing(factory):
        told = f"a function has to create an agent, without arguments; write a class with {_ACT}"
        raise ConfigError(f"agent {spec!r}: {made_by.__name__} is a function: {told}")
    module = str(getattr(made_by, "__module__", "") or "")
    return Source(factory, module, bool(getattr(made_by, "privileged", False)), spec)


def _takes_nothing(factory: Callable[..., object]) -> bool:
    try:
        inspect.signature(factory).bind()
    except TypeError:
        return False
    return True


def _imported(spec: str, load: Callable[[], ModuleType]) -> ModuleType:
    try:
        return load()
    except ConfigError:
        raise
    except SyntaxError as error:
        where = f"{error.filename}:{error.lineno}"
        raise ConfigError(f"agent {spec!r}: {where}: {error.msg}") from error
    except BaseException as error:  # importing foreign code may raise anything
        pass_interruptions(error)
        told = f"it cannot be imported: {type(error).__name__}: {error}"
        raise ConfigError(f"agent {spec!r}: {told}{_line_of(error)}") from error


def _line_of(error: BaseException) -> str:
    """Return the line of foreign code at which an import failed; empty if it is unknown."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename in (__file__, importlib.__file__):
        return ""
    file = trace.tb_frame.f_code.co_filename
    return "" if file.startswith("<frozen ") else f" ({file}:{trace.tb_lineno})"


def _import_module(name: str) -> ModuleType:
    # A console script does not search the caller's folder, as `python -m` would.
    _make_importable(Path.cwd())
    return importlib.import_module(name)


def _import_file(spec: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"agent {spec!r}: there is no file {path}")
    path = path.resolve()
    name = f"agentgym_agent_{abs(hash(str(path))):x}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise ConfigError(f"agent {spec!r}: {path} is not a Python file; expected FILE.py:CLASS")
    _make_importable(path.parent)
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # dataclasses and pickles look it up there
    try:
        found.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _make_importable(folder: Path) -> None:
    # At the end, so that a file beside an agent does not replace an installed package.
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _find(module: ModuleType, name: str, spec: str) -> Callable[..., object]:
    """Return the class or function with a name; without a name, the file's only agent."""
    agents = [
        found
        for found in vars(module).values()
        if isinstance(found, type)
        and found.__module__ == module.__name__
        and callable(getattr(found, "act", None))
    ]
    if not name:
        if len(agents) == 1:
            return agents[0]
        held = ", ".join(agent.__name__ for agent in agents) or f"no class with {_ACT}"
        raise ConfigError(f"agent {spec!r}: name the class: FILE.py:CLASS; the file has {held}")
    found: Any = getattr(module, name, None)
    if found is None:
        close = close_matches(name, [agent.__name__ for agent in agents])
        guess = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise ConfigError(f"agent {spec!r}: it has no {name!r}{guess}")
    factory: Callable[..., object] = found
    return factory
