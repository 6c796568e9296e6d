"""The URLs that were fetched."""

import json
from pathlib import Path

from tern.files import complete_file


class State:
    """The URLs that were fetched, and the files they are in, relative to the folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "state.json"
        self._files: dict[str, str] = {}
        if self._path.exists():
            self._files = json.loads(self._path.read_text(encoding="utf-8"))

    def __contains__(self, url: str) -> bool:
        return url in self._files

    def add(self, url: str, file: str) -> None:
        self._files[url] = file

    def save(self) -> None:
        """Write the state; it is complete or as before."""
        with complete_file(self._path) as file:
            file.write(json.dumps(self._files, indent=1, sort_keys=True).encode())
