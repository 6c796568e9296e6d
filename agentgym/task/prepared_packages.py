"""Packages that are installed in the images of tasks beforehand, by a table of the user.

Published solutions install packages from the network. If a sandbox has no network, they find the
packages installed if a table names them. Without a table, images stay as their author wrote them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from agentgym.errors import TaskError
from agentgym.manifest import Manifest, load_toml
from agentgym.records import Packages

VARIABLE = "AGENTGYM_PREPARED"
"""Environment variable that names the file of the table."""


class _Task(Manifest):
    apt: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()


class PreparedManifest(Manifest):
    """The table: packages by the name of a task's folder."""

    schema_version: Literal["agentgym.prepared/1"]
    tasks: dict[str, _Task] = Field(default_factory=dict)


def prepared_for(folder: Path) -> Packages:
    """Return the packages to install in a task's image beforehand.

    Raises:
        TaskError: The table cannot be read.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return Packages()
    found = load_toml(Path(path), PreparedManifest, TaskError).tasks.get(folder.name, _Task())
    return Packages(found.apt, found.pip)
