"""Reads YAML files, which need the optional package PyYAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentgym.errors import GuestFileError, TaskError
from agentgym.manifest import read_text, show_path
from agentgym.verify.documents import parse


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file.

    Raises:
        TaskError: The file is not valid YAML, has a key twice, or aliases that multiply.
        MissingExtraError: PyYAML is not installed.
    """
    try:
        return parse(read_text(path, TaskError).encode(), "yaml", show_path(path))
    except GuestFileError as error:
        raise TaskError(str(error)) from error
