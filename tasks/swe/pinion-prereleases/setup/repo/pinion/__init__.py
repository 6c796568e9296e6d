"""Chooses versions of packages."""

from pinion.constraint import Constraint, ConstraintError, read_constraints
from pinion.index import Index, read_index
from pinion.resolver import ResolutionError, resolve
from pinion.version import Version, VersionError

__all__ = [
    "Constraint",
    "ConstraintError",
    "Index",
    "ResolutionError",
    "Version",
    "VersionError",
    "read_constraints",
    "read_index",
    "resolve",
]
