"""The contents of an office document, read by a process with limits."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from agentgym.installation import missing_extra
from agentgym.protocols import FileTree
from agentgym.verify.subprocess_reader import ask

_READER = Path(__file__).with_name("reader.py")
_OFFICE_BYTES = 16 * 2**20


def extract(tree: FileTree, path: str, library: str, **order: Any) -> Any:
    """Return a part of a document.

    Args:
        tree: The files, at the start or at the end.
        path: The document.
        library: The package that reads it.
        order: What ``reader.py`` should return.

    Raises:
        GuestFileError: The file is missing, too large, or no such document.
        MissingExtraError: The package is not installed.
    """
    data = tree.read(path, max_bytes=_OFFICE_BYTES)
    if importlib.util.find_spec(library) is None:
        raise missing_extra(library, "office")
    return ask(_READER, order, {"file": data}, what=path)
