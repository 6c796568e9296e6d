"""Folders whose files can be read by name."""

import os.path
from pathlib import Path


class Folder:
    """The files below a folder, by names with slashes."""

    def __init__(self, root: str | Path) -> None:
        self.root = os.path.abspath(root)

    def find(self, name: str) -> Path | None:
        """Return the path of a file; None if there is no such file."""
        path = os.path.normpath(os.path.join(self.root, name))
        if not path.startswith(self.root):
            return None
        found = Path(path)
        return found if found.exists() else None

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if there is no such file."""
        path = self.find(name)
        return None if path is None else path.read_bytes()
