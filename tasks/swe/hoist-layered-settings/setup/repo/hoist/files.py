"""Layers from files."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hoist.layers import Layer
from hoist.settings import LISTS, SettingsError, checked


def file_layers(path: Path, environment: str) -> list[Layer]:
    """Return the layers of a file for an environment, the general one first.

    Raises:
        SettingsError: The file cannot be read, or holds mistakes.
    """
    if not path.exists():
        return []
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: {error}") from None
    environments = content.pop("environments", {})
    return [_layer(path, content), _layer(path, environments.get(environment, {}))]


def _layer(path: Path, content: Mapping[str, Any]) -> Layer:
    values, added = {}, {}
    for key, value in content.items():
        if key.endswith("+") and key[:-1] in LISTS:
            added[key[:-1]] = checked(key[:-1], value)
        else:
            values[key] = checked(key, value)
    return Layer(str(path), values, added)
