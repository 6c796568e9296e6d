"""Paths of a repository that belong to its tests, and paths that are code."""

from __future__ import annotations

import posixpath
import re
from typing import Final

_FOLDERS: Final = frozenset(
    {"test", "tests", "unittests", "__tests__", "__mocks__", "spec", "specs", "e2e"}
    | {"testdata", "test_data", "__snapshots__", "fixtures"}
)
_NAMES: Final = re.compile(
    r"test_.*\.py|.*_tests?\.py|tests?\.py|conftest\.py|.*_test\.go|.*[._-](?:test|spec)\.[cm]?[jt]sx?"
)
_TEST_MODULE: Final = re.compile(
    r"test_.*\.py|.*_tests?\.py|tests?\.py|.*_test\.go|.*[._-](?:test|spec)\.[cm]?[jt]sx?"
)
_CODE: Final = re.compile(
    r".*\.(?:py|pyx|pyi|go|[cm]?jsx?|[cm]?tsx?|java|rs|c|h|cc|cpp|hpp|rb|php|kt|scala|cs|swift)"
)


def is_test_path(path: str) -> bool:
    """Return whether a path belongs to the tests: their modules, helpers, data and settings."""
    *folders, name = path.split("/")
    return any(each.lower() in _FOLDERS for each in folders) or bool(_NAMES.fullmatch(name))


def is_test_module(path: str) -> bool:
    """Return whether a test runner collects tests from a file with this name."""
    *folders, name = path.split("/")
    if _TEST_MODULE.fullmatch(name):
        return True
    script = re.fullmatch(r".*\.[cm]?[jt]sx?", name)
    return bool(script) and any(each in ("test", "tests", "__tests__") for each in folders)


def is_code(path: str) -> bool:
    """Return whether a path is source code that is no test."""
    return bool(_CODE.fullmatch(posixpath.basename(path))) and not is_test_path(path)
