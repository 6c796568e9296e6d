"""The result of a getter: a value, or files that lie in the stage under a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Value:
    """A plain value.

    Attributes:
        value: JSON.
    """

    value: Any

    def order(self) -> Mapping[str, Any]:
        """Return how the reader of metrics is told."""
        return {"value": self.value}


@dataclass(frozen=True)
class Files:
    """One file, or a list of files.

    Attributes:
        names: Their names in the stage; None for one that is not there.
        is_list: Whether the metric takes a list.
    """

    names: tuple[str | None, ...]
    is_list: bool = False

    def order(self) -> Mapping[str, Any]:
        """Return how the reader of metrics is told."""
        return {"files": list(self.names)} if self.is_list else {"file": self.names[0]}


Read = Value | Files
