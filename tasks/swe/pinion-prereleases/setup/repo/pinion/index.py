"""Packages, their versions and their needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pinion.constraint import Constraint, read_constraints
from pinion.version import Version


@dataclass
class Index:
    """Packages by name and version.

    Attributes:
        needs: For each package and version, constraints by the names of other packages.
    """

    needs: dict[str, dict[Version, Mapping[str, tuple[Constraint, ...]]]] = field(default_factory=dict)

    def versions(self, name: str) -> list[Version]:
        """Return the versions of a package, the newest first."""
        return sorted(self.needs.get(name, {}), reverse=True)

    def add(self, name: str, version: str, needs: Mapping[str, str] = {}) -> None:
        """Add a version of a package.

        Raises:
            ValueError: It is there already.
        """
        known = self.needs.setdefault(name, {})
        new = Version(version)
        if new in known:
            raise ValueError(f"{name} {version} is there twice")
        known[new] = {other: read_constraints(text) for other, text in needs.items()}


def read_index(text: str) -> Index:
    """Return the index of a text: `NAME VERSION`, and below it, indented, `NAME CONSTRAINTS`.

    Raises:
        ValueError: A line is wrong.
    """
    index, head, needs = Index(), None, {}
    for number, line in enumerate([*text.splitlines(), "end"], start=1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, rest = line.strip().partition(" ")
        if line[0].isspace():
            if head is None:
                raise ValueError(f"line {number}: a need of no package")
            needs[name] = rest or "*"
            continue
        if head is not None:
            index.add(*head, needs)
        head, needs = (name, rest), {}
    return index
