"""The labels by which a trainer finds its episodes in a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentgym.errors import ConfigError
from agentgym.records import Json

_LONGEST_NAME: Final = 200
_LARGEST_METADATA: Final = 65_536
"""Bytes of its JSON text."""


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels by which a trainer finds an episode.

    Attributes:
        group: Name of the group that it is compared within, None if it is in none.
        metadata: A JSON object, None if it was not given.
    """

    group: str | None = None
    metadata: dict[str, Json] | None = None


UNLABELLED: Final = Labels()


def read_labels(options: Mapping[str, Any]) -> Labels:
    """Read the options of a reset that is recorded.

    Raises:
        ConfigError: There is another option, or one has a wrong value.
    """
    if unknown := options.keys() - {"group", "metadata"}:
        names = ", ".join(f"{name!r:.40}" for name in sorted(unknown, key=str)[:5])
        raise ConfigError(f"reset: expected the options 'group' and 'metadata', got {names}")
    return check_labels(options.get("group"), options.get("metadata"), "options[{!r}]".format)


def check_labels(group: Any, metadata: Any, told: Callable[[str], str] = str) -> Labels:
    """Return labels as they are recorded.

    Args:
        group: Name of a group, or None.
        metadata: A JSON object of at most 64 KiB, or None.
        told: Returns how the caller writes ``group`` and ``metadata``, for messages.

    Raises:
        ConfigError: One of them has a wrong value.
    """
    if group is not None:
        check_name(told("group"), group)
    if metadata is None:
        return Labels(group)
    name = told("metadata")
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise ConfigError(f"{name}: expected a JSON object, got {metadata!r:.200}")
    try:
        text = json.dumps(dict(metadata), allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: it cannot be written as JSON: {error}") from error
    if size > _LARGEST_METADATA:
        raise ConfigError(
            f"{name}: expected at most {_LARGEST_METADATA:,} bytes of JSON, got {size:,}"
        )
    return Labels(group, found)


def check_name(what: str, name: object) -> None:
    """Check the name of a group or an agent.

    Raises:
        ConfigError: It is no text, empty, too long, or cannot be written as UTF-8.
    """
    usable = isinstance(name, str) and name.strip() and len(name) <= _LONGEST_NAME
    if not usable or not _is_utf8(str(name)):
        raise ConfigError(
            f"{what}: expected a text of 1 to {_LONGEST_NAME} characters, got {name!r:.80}"
        )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
