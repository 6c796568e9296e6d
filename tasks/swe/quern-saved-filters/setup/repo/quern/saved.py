"""Filters by name, in a file."""

from pathlib import Path

from quern.errors import FilterError
from quern.nodes import Filter
from quern.parser import parse
from quern.simplify import simplify


class Saved:
    """The filters of a file: a line `name: filter` each, in the order of their names."""

    def __init__(self, path: Path) -> None:
        self._path = Path(path)

    def names(self) -> list[str]:
        return sorted(self._lines())

    def save(self, name: str, node: Filter) -> None:
        """Keep a filter under a name; one of that name is replaced."""
        if not name.strip() or ":" in name or "\n" in name:
            raise ValueError(f"no name of a filter: {name!r}")
        self._write(self._lines() | {name.strip(): str(simplify(node))})

    def load(self, name: str) -> Filter:
        """Return the filter of a name.

        Raises:
            KeyError: No filter has the name.
            FilterError: The file holds no filter there.
        """
        return parse(self._lines()[name])

    def remove(self, name: str) -> None:
        lines = self._lines()
        del lines[name]
        self._write(lines)

    def broken(self) -> dict[str, str]:
        """Return what is wrong with the filters that cannot be loaded, by name."""
        found = {}
        for name, text in self._lines().items():
            try:
                parse(text)
            except FilterError as error:
                found[name] = error.message
        return found

    def _lines(self) -> dict[str, str]:
        if not self._path.exists():
            return {}
        lines = self._path.read_text(encoding="utf-8").splitlines()
        parts = (line.partition(":") for line in lines if line.strip())
        return {name.strip(): text.strip() for name, _, text in parts}

    def _write(self, lines: dict[str, str]) -> None:
        text = "".join(f"{name}: {lines[name]}\n" for name in sorted(lines))
        self._path.write_text(text, encoding="utf-8")
