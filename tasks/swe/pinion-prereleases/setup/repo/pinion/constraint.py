"""Constraints on versions."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pinion.version import Version

_PATTERN = re.compile(r"(==|!=|>=|<=|>|<|\^|~)\s*(\S+)")
_COMPARE: Mapping[str, Callable[[Version, Version], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class ConstraintError(ValueError):
    """A text is no constraint."""


@dataclass(frozen=True)
class Constraint:
    """One constraint. The operator of `*` is empty, and it has no version."""

    operator: str
    version: Version | None = None

    def allows(self, version: Version) -> bool:
        """Return whether a version is in the range; pre-releases are looked at elsewhere."""
        if self.version is None:
            return True
        if self.operator in _COMPARE:
            return _COMPARE[self.operator](version, self.version)
        return self.version <= version < self._end()

    def _end(self) -> Version:
        """Return the first version after a range of `^` or `~`."""
        assert self.version is not None
        numbers = self.version.numbers
        if self.operator == "^":
            return Version(f"{numbers[0] + 1}")
        return Version(f"{numbers[0] + 1}.0")

    @property
    def names_prerelease(self) -> bool:
        return self.version is not None and self.version.is_prerelease

    def __str__(self) -> str:
        return f"{self.operator}{self.version}" if self.version else "*"


def read_constraints(text: str) -> tuple[Constraint, ...]:
    """Return the constraints of a text, separated by commas.

    Raises:
        ConstraintError: A part is no constraint.
    """
    found = []
    for part in text.split(","):
        part = part.strip()
        if part == "*":
            found.append(Constraint(""))
            continue
        match = _PATTERN.fullmatch(part)
        if match is None:
            raise ConstraintError(f"no constraint: {part!r}")
        found.append(Constraint(match[1], Version(match[2])))
    return tuple(found)


def fits(version: Version, constraints: tuple[Constraint, ...]) -> bool:
    """Return whether a version may be chosen under all constraints on its package."""
    if version.is_prerelease and not any(each.names_prerelease for each in constraints):
        return version > max(
            (each.version for each in constraints if each.version), default=version
        )
    return all(each.allows(version) for each in constraints)
