"""Definitions of release pairs: names, versions, hashes, tests and the issue, but no code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from agentgym.errors import TaskError
from agentgym.manifest import Manifest, load_toml

BUNDLED: Final = Path(__file__).with_name("pairs")
_NAME: Final = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"
_SHA256: Final = "^[0-9a-f]{64}$"


class Source(Manifest):
    """A source release.

    Attributes:
        version: Its version.
        file: Name of its archive, a ``.tar.gz``.
        sha256: Hash of the archive, 64 hex digits.
    """

    version: str = Field(pattern=r"^[A-Za-z0-9.+!_-]+$")
    file: str = Field(pattern=r"^[A-Za-z0-9._+-]+\.tar\.gz$")
    sha256: str = Field(pattern=_SHA256)


class ReleasePair(Manifest):
    """The content of a definition.

    Attributes:
        package: Name of the package.
        title: Title of the task.
        difficulty: Of the task.
        issue: The issue, written for this task.
        base: The release that the agent gets.
        fixed: The next release, whose tests decide.
        tests: Test files of the next release that run, relative to the repository.
        restore: Files and folders whose changes by the agent do not count.
        config: File of the base that configures pytest.
        python_path: Folders that tests import from; "" is the repository itself.
        fail_to_pass: Tests that the next release makes pass.
        pass_to_pass: Tests that pass in both.
    """

    schema_version: Literal["agentgym.release-pair/1"]
    package: str = Field(pattern=_NAME)
    title: str
    difficulty: Literal["easy", "medium", "hard"]
    issue: str = Field(min_length=40)
    base: Source
    fixed: Source
    tests: tuple[str, ...] = Field(min_length=1)
    restore: tuple[str, ...] = ("tests",)
    config: str
    python_path: tuple[str, ...] = ("",)
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()


def bundled_pairs() -> Mapping[str, ReleasePair]:
    """Return the bundled definitions by name.

    Raises:
        TaskError: One of them is broken.
    """
    paths = sorted(BUNDLED.glob("*.toml"))
    return {path.stem: load_toml(path, ReleasePair, TaskError) for path in paths}
