"""The names that the code of a commit has; contents that commits share are read once."""

from __future__ import annotations

import threading
from typing import Final

from agentgym.swe.clone import Clone
from agentgym.swe.mining.issue_text import names_in
from agentgym.swe.test_paths import is_code

_LARGEST: Final = 1 << 20
"""Bytes of a file whose names are read; larger ones are data."""


class KnownNames:
    """The names in the code of commits of one clone.

    Args:
        clone: The clone.
    """

    def __init__(self, clone: Clone) -> None:
        self._clone = clone
        self._known: dict[str, frozenset[str]] = {}
        self._lock = threading.Lock()

    def at(self, commit: str) -> frozenset[str]:
        """Return the names in the code of a commit.

        Raises:
            TaskError: The clone lacks an object.
        """
        files = [
            entry.object_id
            for entry in self._clone.entries(commit)
            if entry.mode in ("100644", "100755") and entry.size <= _LARGEST and is_code(entry.path)
        ]
        with self._lock:
            wanted = list(dict.fromkeys(each for each in files if each not in self._known))
            for object_id, data in zip(wanted, self._clone.blobs(wanted), strict=True):
                self._known[object_id] = frozenset(names_in(data.decode("utf-8", "replace")))
            return frozenset().union(*(self._known[each] for each in files))
