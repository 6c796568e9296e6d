"""Tells whose code something is: of a patch, of a test module, or of the test runner."""

import functools
import os
import time
from collections.abc import Iterable, Sequence
from types import CodeType, MethodType
from typing import Any


class Places:
    """Tells the code of a patch from all other code, by its files.

    Args:
        root: The repository.
        targets: Test modules, relative to it.
        changed: Files of the patch, relative to it.
    """

    def __init__(self, root: str, targets: Sequence[str], changed: Sequence[str]) -> None:
        self.hidden = {os.path.join(root, path) for path in targets}
        self._changed = {os.path.join(root, path) for path in changed}
        self._below = os.path.join(root, "")
        self._begun, self._looked = time.time(), os.stat
        self._old: dict[str, bool] = {}

    def is_tested(self, name: str) -> bool:
        """Return whether a file of the repository is the patch's, or was written since."""
        if not name.startswith(self._below) or name in self.hidden:
            return False
        return name in self._changed or not self._is_old(name)

    def is_other(self, name: str) -> bool:
        """Return whether a file is neither the patch's nor was written since."""
        return not self.is_tested(name)

    def is_test(self, name: str) -> bool:
        """Return whether a file is a test module."""
        return name in self.hidden

    def knows(self, name: str) -> bool:
        """Return whether a file belongs to the repository."""
        return name.startswith(self._below)

    def _is_old(self, name: str) -> bool:
        if name not in self._old:
            try:
                self._old[name] = self._looked(name).st_ctime <= self._begun
            except (OSError, ValueError):
                # Code that was compiled under a name has no file.
                return False
        return self._old[name]


def file_of(value: object) -> str:
    """Return the file that a function says it comes from; empty if it is no function."""
    if isinstance(value, functools.partial):
        value = value.func
    code = getattr(unwrapped(value), "__code__", None)
    return code.co_filename if type(code) is CodeType else ""


def unwrapped(value: Any) -> Any:
    """Return the function of a method; any other object may say that it has one."""
    return value.__func__ if type(value) in (MethodType, classmethod, staticmethod) else value


def runner_folders(modules: Iterable[Any]) -> tuple[str, ...]:
    """Return the folders of modules of the runner; plug-ins lie beside those that are installed."""
    standard = os.path.dirname(os.__file__)
    return tuple(
        f"{folder if folder.startswith(f'{standard}/') else os.path.dirname(folder)}/"
        for folder in (os.path.dirname(module.__file__) for module in modules)
    )
