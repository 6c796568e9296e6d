"""Makes the plan of an image from a recipe's manifest; reads the recipe's folder, builds nothing.

The order is: base, apt, pip, env, files, run, user and workdir. Settings that change often come
late, so that a change rebuilds few steps.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from agentgym.errors import SandboxError
from agentgym.manifest import load_toml, locate, read_text, show_path
from agentgym.sandbox.build.context import RECIPE, Context, sha256_of
from agentgym.sandbox.build.instructions import FindPlan, plan_dockerfile
from agentgym.sandbox.build.manifest import FileManifest, RecipeManifest
from agentgym.sandbox.build.plan import (
    Archive,
    Configure,
    Debootstrap,
    Plan,
    Pull,
    Run,
)

APT = """
set -e
apt-get -q update
apt-get -q install -y --no-install-recommends {packages}
apt-get clean
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/apt/* /var/log/dpkg.log
"""
PIP = "python3 -m pip install --no-cache-dir --progress-bar off {packages}"
# pip may change the system's Python, because a sandbox has no other user of it.
_ARCHIVE_BYTES = 64 << 30
_PIP_ENV = {"PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_ROOT_USER_ACTION": "ignore"}


_MADE_BY_PYTHON = "**/__pycache__"
"""Files that an import writes into a recipe's folder are no part of it, as in a .dockerignore."""


def read_manifest(folder: Path) -> RecipeManifest:
    """Return the manifest in a folder. Raises SandboxError naming file, line and field."""
    return load_toml(folder / RECIPE, RecipeManifest, SandboxError)


def plan_recipe(folder: Path, manifest: RecipeManifest, find_plan: FindPlan) -> Plan:
    """Return the plan of a recipe that is not the host's.

    Raises:
        SandboxError: The recipe is invalid or uses an unsupported feature; names file and line.
    """
    return _Planner(folder, manifest, find_plan).plan().as_own()


def with_packages(
    plan: Plan, apt: Sequence[str], pip: Sequence[str], where: Callable[[str], str]
) -> Plan:
    """Return a plan with packages installed after it.

    Args:
        plan: The plan so far.
        apt: Debian packages, installed without recommended ones.
        pip: Requirements for the image's python3.
        where: Returns the place that asked for ``"apt"`` or for ``"pip"``.
    """
    if apt:
        script = APT.format(packages=shlex.join(apt))
        run = Run(script=script, env={"DEBIAN_FRONTEND": "noninteractive"}, as_root=True)
        plan = plan.then(run, f"apt {' '.join(apt)}", where("apt"))
    if pip:
        run = Run(script=PIP.format(packages=shlex.join(pip)), env=_PIP_ENV, as_root=True)
        plan = plan.then(run, f"pip {' '.join(pip)}", where("pip"))
    return plan


class _Planner:
    def __init__(self, folder: Path, manifest: RecipeManifest, find_plan: FindPlan) -> None:
        self._folder, self._manifest, self._find_plan = folder, manifest, find_plan
        self._file = folder / RECIPE
        self._text = read_text(self._file, SandboxError)

    def plan(self) -> Plan:
        manifest = self._manifest
        plan = self._base()
        plan = with_packages(plan, manifest.apt, manifest.pip, self._where)
        if manifest.env:
            literal = tuple((name, shlex.quote(value)) for name, value in manifest.env.items())
            plan = plan.then(Configure(env=literal), "env", self._where("env"))
        for index, file in enumerate(manifest.files):
            plan = self._copy(plan, file, self._where("files", index))
        for index, command in enumerate(manifest.run):
            run = Run(script=f"set -e\n{command}", as_root=True)
            plan = plan.then(run, f"run {_first_line(command)}", self._where_run(index, command))
        if manifest.user or manifest.workdir:
            last = Configure(user=manifest.user, workdir=shlex.quote(manifest.workdir or "/root"))
            if not manifest.workdir:
                last = Configure(user=manifest.user)
            where = self._where("user" if manifest.user else "workdir")
            plan = plan.then(last, "user and workdir", where)
        return plan

    def _where(self, *location: int | str) -> str:
        return f"{show_path(self._file)}:{locate(self._text, location)}"

    def _where_run(self, index: int, command: str) -> str:
        """Return the line of a command, also if the array spans many lines."""
        first = locate(self._text, ("run", index))
        text = command.strip().partition("\n")[0]
        lines = self._text.split("\n")
        own = (number for number in range(first, len(lines) + 1) if text in lines[number - 1])
        return f"{show_path(self._file)}:{next(own, first)}"

    def _base(self) -> Plan:
        manifest = self._manifest
        if manifest.base:
            plan = self._find_plan(manifest.base)
            if plan is None:
                raise SandboxError(
                    f"{self._where('base')}: base: recipe {manifest.base!r} is the host's own "
                    'programs and has no image to build on; use base = "debian" or another'
                )
            return plan
        if manifest.image:
            title = f"image {manifest.image}"
            return Plan(()).then(Pull(manifest.image), title, self._where("image"))
        if wanted := manifest.debootstrap:
            action = Debootstrap(wanted.suite, wanted.variant, wanted.mirror)
            title = f"debootstrap {wanted.suite}"
            return Plan(()).then(action, title, self._where("debootstrap"))
        if manifest.archive:
            where = self._where("archive")
            return Plan(()).then(self._archive(where), f"archive {manifest.archive}", where)
        return plan_dockerfile(self._folder, manifest.dockerfile, self._find_plan)

    def _archive(self, where: str) -> Archive:
        path = self._folder / self._manifest.archive
        try:
            return Archive(path, sha256_of(path, _ARCHIVE_BYTES))
        except OSError as error:
            raise SandboxError(
                f"{where}: archive: {show_path(path)} cannot be read: {error.strerror}; put there "
                "what `docker save IMAGE` or `skopeo copy … oci-archive:FILE` wrote"
            ) from error

    def _copy(self, plan: Plan, file: FileManifest, where: str) -> Plan:
        try:
            action = Context(self._folder, _MADE_BY_PYTHON).copy(
                [file.source],
                shlex.quote(file.target),
                owner=shlex.quote(file.owner) if file.owner else "",
                mode=int(file.mode, 8) if file.mode else None,
            )
        except (ValueError, OSError) as error:
            raise SandboxError(f"{where}: files: {error}") from error
        return plan.then(action, f"files {file.source}", where)


def _first_line(command: str) -> str:
    line, _, more = command.strip().partition("\n")
    return f"{line} …" if more else line
