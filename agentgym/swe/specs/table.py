"""Tables of environment specs: TOML files with an entry per repository and range of versions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from agentgym.errors import TaskError
from agentgym.manifest import Manifest, load_toml
from agentgym.swe.instance import EnvironmentSpec

BUNDLED: Final = Path(__file__).with_name("bundled.toml")


class SpecEntry(Manifest):
    """One entry; absent fields keep the values of the entries before it."""

    repo: str
    from_version: str = Field(default="", alias="from")
    before: str = ""
    language: str = ""
    runtime: str = ""
    system_packages: tuple[str, ...] = Field(default=(), strict=False)
    pre_install: tuple[str, ...] = Field(default=(), strict=False)
    packages: tuple[str, ...] = Field(default=(), strict=False)
    install: tuple[str, ...] = Field(default=(), strict=False)
    test_command: str = ""
    parser: str = ""
    timeout_s: float | None = Field(default=None, gt=0)

    def serves(self, repo: str, version: str) -> bool:
        """Return whether the entry is for a version of a repository, ``owner/name``."""
        if self.repo.lower() != repo.lower():
            return False
        if not self.from_version and not self.before:
            return True
        if not version:
            return False
        stated = _ordered(version)
        return _ordered(self.from_version) <= stated and (
            not self.before or stated < _ordered(self.before)
        )


class SpecTable(Manifest):
    """A file of specs."""

    schema_version: Literal["agentgym.swe-specs/1"]
    spec: tuple[SpecEntry, ...] = Field(default=(), strict=False)


def load_table(path: Path = BUNDLED) -> SpecTable:
    """Read a table.

    Raises:
        TaskError: It cannot be read or has a wrong field; the message names file and line.
    """
    return load_toml(path, SpecTable, TaskError)


def find_spec(repo: str, version: str, tables: Sequence[SpecTable]) -> EnvironmentSpec | None:
    """Return what the tables state for a version of a repository; None if they have no entry.

    Args:
        repo: ``owner/name``.
        version: Version of the instance; may be empty.
        tables: Tables in order; a later one overrides an earlier one, field by field.
    """
    found: EnvironmentSpec | None = None
    for entry in (entry for table in tables for entry in table.spec):
        if entry.serves(repo, version):
            found = merged(found or EnvironmentSpec(language="", timeout_s=0), entry)
    return found


def merged(below: EnvironmentSpec, above: EnvironmentSpec | SpecEntry) -> EnvironmentSpec:
    """Return a spec with the fields of another one that are not empty."""
    stated = {field.name: getattr(above, field.name) for field in fields(EnvironmentSpec)}
    return replace(below, **{name: value for name, value in stated.items() if value})


def _ordered(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, in order: ``"1.10"`` is (1, 10)."""
    return tuple(int(number) for number in re.findall(r"\d{1,9}", version))
