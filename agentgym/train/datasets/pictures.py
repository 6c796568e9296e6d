"""Keeps the pictures of a data set as PNG files in a folder beside it, named by their content."""

from __future__ import annotations

import hashlib
from pathlib import Path

from agentgym.chat.picture import as_png
from agentgym.errors import RecordError
from agentgym.record.folder import RunFolder
from agentgym.records import Image, Json


class PictureFiles:
    """Writes pictures for the data set FILE into the folder ``FILE.pictures``.

    Args:
        file: The data set.
    """

    def __init__(self, file: Path) -> None:
        self._folder, self._prefix = RunFolder(file.parent), f"{file.name}.pictures"
        self._written: set[str] = set()

    def part(self, image: Image) -> dict[str, Json]:
        """Write a picture; return the content part of a message that names its file.

        Raises:
            RecordError: The file cannot be written.
        """
        data = as_png(image)
        name = f"{self._prefix}/{hashlib.sha256(data).hexdigest()[:32]}.png"
        if name not in self._written:
            try:
                if self._folder.find(name) is None:
                    with self._folder.replacing(name) as file:
                        file.write(data)
                    self._written.add(name)
            except OSError as error:
                raise RecordError(f"{name} cannot be written: {error.strerror}") from error
        return {"type": "image_url", "image_url": {"url": name}}

    def discard(self) -> None:
        """Remove the pictures that were written, because the data set is not."""
        for name in self._written:
            self._folder.remove(name)
        folder = self._folder.path / self._prefix
        if self._written and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
