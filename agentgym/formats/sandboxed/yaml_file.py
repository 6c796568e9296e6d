"""Reads YAML files, which need the optional package PyYAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentgym.errors import TaskError
from agentgym.installation import missing_extra
from agentgym.manifest import read_text, show_path


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file.

    Raises:
        TaskError: The file is not valid YAML.
        MissingExtraError: PyYAML is not installed.
    """
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise missing_extra("PyYAML", "data") from error
    try:
        return yaml.safe_load(read_text(path, TaskError))
    except yaml.YAMLError as error:
        raise TaskError(f"{show_path(path)}: expected YAML: {error}") from error
