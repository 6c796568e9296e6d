"""Chooses versions that fit together."""

from collections.abc import Mapping

from pinion.constraint import Constraint, fits, read_constraints
from pinion.index import Index
from pinion.version import Version


class ResolutionError(Exception):
    """No choice of versions fits."""


def resolve(index: Index, wanted: Mapping[str, str]) -> dict[str, Version]:
    """Return versions of what is wanted and of all that it needs.

    Args:
        index: The packages that there are.
        wanted: Constraints by name.

    Raises:
        ResolutionError: There is no solution.
    """
    constraints: dict[str, tuple[Constraint, ...]] = {}
    chosen: dict[str, Version] = {}
    open_names = list(wanted)
    for name, text in wanted.items():
        constraints[name] = read_constraints(text)
    while open_names:
        name = open_names.pop(0)
        found = [each for each in index.versions(name) if fits(each, constraints[name])]
        if not found:
            raise ResolutionError(f"no version of {name} fits")
        chosen[name] = found[0]
        for other, more in index.needs[name][found[0]].items():
            constraints[other] = constraints.get(other, ()) + more
            if other not in chosen or not fits(chosen[other], constraints[other]):
                open_names.append(other)
    return chosen
