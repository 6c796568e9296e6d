"""A build as data: steps in order, each named by a digest chained to the previous one.

Equal digests mean equal text, files and history, so a layer stored under a step's digest is the
layer that the step would make.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

_PIPELINE = "1"
"""Version of the build; increase it if the same plan makes different layers."""


@dataclass(frozen=True, slots=True)
class Scratch:
    """Begin with an empty image."""


@dataclass(frozen=True, slots=True)
class Debootstrap:
    """Begin with a Debian made from packages. An empty mirror means this machine's mirror."""

    suite: str
    variant: str
    mirror: str


@dataclass(frozen=True, slots=True)
class Pull:
    """Begin with an image of a registry."""

    reference: str


@dataclass(frozen=True, slots=True)
class Archive:
    """Begin with the image in an OCI archive or an archive of `docker save`."""

    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class Run:
    """Run a command in the image.

    Attributes:
        argv: The command; empty: the shell runs `script`.
        script: Text for the shell.
        env: Variables of this command alone.
        as_root: Whether to run as root in `/`, regardless of the settings.
    """

    argv: tuple[str, ...] = ()
    script: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    as_root: bool = False


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file, link or folder to copy; `name` is its path below the target, or empty."""

    name: str
    path: Path
    mode: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy files into the image; `target`, `owner` may hold ``$variables``.

    Attributes:
        files: The files in copying order; a folder precedes its content.
        target: The path to copy to.
        inside: Whether the files go below `target` even if it does not exist yet.
        owner: ``user:group`` by name or number; empty: root.
        mode: Mode of every file; None: its own mode.
    """

    files: tuple[SourceFile, ...]
    target: str
    inside: bool
    owner: str = ""
    mode: int | None = None
    args: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Configure:
    """Set the environment of later steps and of sandbox commands; values may hold ``$variables``.

    Attributes:
        env: Variables in order; one may use those before it.
        workdir: Working directory, made if absent; relative to the previous one.
        user: The user of commands.
        shell: The program that runs the scripts of later steps.
        args: Variables of the build alone.
        other: Entries of the OCI config that are kept unchanged.
    """

    env: tuple[tuple[str, str], ...] = ()
    workdir: str = ""
    user: str = ""
    shell: tuple[str, ...] = ()
    args: Mapping[str, str] = field(default_factory=dict)
    other: Mapping[str, object] = field(default_factory=dict)


Base: TypeAlias = Scratch | Debootstrap | Pull | Archive
Action: TypeAlias = Base | Run | Copy | Configure


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        digest: Name of the layer that it makes.
        action: What it does.
        title: Title to show.
        where: File and line of the recipe behind it.
        is_own: Whether it is of a recipe in this user's catalogues. Others, such as the steps of a
            task's Dockerfile, get no credentials.
    """

    digest: str
    action: Action
    title: str
    where: str
    is_own: bool = False

    @property
    def makes_layer(self) -> bool:
        """Whether the step changes files, and not only the configuration."""
        return not isinstance(self.action, Configure) or bool(self.action.workdir)


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one image; the first is the base."""

    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """Name of the image: the digest of the last step."""
        return self.steps[-1].digest

    def as_own(self) -> Plan:
        """Return the plan with all its steps marked as those of a recipe of the catalogues."""
        return Plan(tuple(replace(step, is_own=True) for step in self.steps))

    def then(self, action: Action, title: str, where: str) -> Plan:
        """Return the plan with one more step."""
        parent = self.steps[-1].digest if self.steps else _PIPELINE
        step = Step(_digest(parent, action), action, title, where)
        return Plan((*self.steps, step))


def _digest(parent: str, action: Action) -> str:
    content = [parent, type(action).__name__, asdict(action)]
    # A host path does not identify content; the hash beside it does.
    text = json.dumps(content, sort_keys=True, default=lambda path: "")
    return hashlib.sha256(text.encode()).hexdigest()
