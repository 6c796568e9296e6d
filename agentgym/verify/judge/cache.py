"""Answers on disk, so that a question about the same exhibits is asked only once.

Each answer is a file below the cache folder, named by the SHA-256 of everything that could change
it. A damaged file, or one of another format, is a miss.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from agentgym import catalogue
from agentgym.records import Json

FORMAT = "agentgym.judgement/1"


def cache_key(parts: Mapping[str, Json]) -> str:
    """Return the SHA-256 of everything that an answer depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=dict).encode()).hexdigest()


class AnswerCache:
    """Answers by key.

    Args:
        folder: Folder of the answers; None for the folder ``judge`` of the user's cache.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def read(self, key: str) -> Json:
        """Return an answer; None if the file is missing or cannot be read."""
        try:
            value = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or (value.get("format"), value.get("key")) != (FORMAT, key):
            return None
        answer: Json = value.get("answer")
        return answer

    def write(self, key: str, answer: Json) -> None:
        """Store an answer, atomically; if the folder cannot be written, nothing is stored."""
        path = self._path(key)
        text = json.dumps({"format": FORMAT, "key": key, "answer": answer}, default=dict)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(prefix=".part-", dir=path.parent)
            try:
                with open(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                os.replace(part, path)
            except BaseException:
                os.unlink(part)
                raise

    def _path(self, key: str) -> Path:
        folder = self._folder or catalogue.cache_dir() / "judge"
        return folder / key[:2] / f"{key[2:]}.json"
