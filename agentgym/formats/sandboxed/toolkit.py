"""The toolkit of test scripts: programs of agentgym, prepared when a task is built.

One folder holds Python, bash and curl, each with its own loader and libraries (recipe
``verifier``), the Python packages that the scripts need, and the files that Debian packages would
add to the task's image. It is copied into the sandbox under an unpredictable name.
"""

from __future__ import annotations

import functools
import os
import secrets
import shlex
import shutil
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agentgym import catalogue
from agentgym.env.resolved_task import sandbox_plan
from agentgym.errors import SandboxError, VerifierError
from agentgym.formats.sandboxed.requirements import ScriptRequirements, requirements_of
from agentgym.formats.sandboxed.rules import TOOLKIT_RECIPE, SandboxRules
from agentgym.protocols import ImageBuilder
from agentgym.sandbox.build.plan import Plan, Run
from agentgym.sandbox.image_fallback import Sources
from agentgym.sandbox.images import ImageLayout, Layer, find_image
from agentgym.sandbox.recipe import load_plan

_FOLDER, _SITE = "opt/agentgym-verifier", "opt/agentgym-site"
# Compiled once with unchecked hashes, because a layer does not keep the files' times.
_PIP = """
set -e
python3 -m pip install --no-cache-dir --no-compile --progress-bar off --target /{site} {packages}
python3 -m compileall -q --invalidation-mode unchecked-hash /{site} || true
"""
_APT = """
set -e
apt-get -q update
apt-get -q install -y {packages}
"""
# Files that a package manager writes for itself.
_APT_OWN = ("var/lib/apt", "var/lib/dpkg", "var/cache", "var/log", "etc/ld.so.cache", "tmp", "run")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A prepared toolkit.

    Attributes:
        wants: The requirements it was made for.
        programs: Folder with the programs.
        site: Archive with the Python packages.
        additions: Archive with the files of Debian packages; None if no package is needed.
        installed: Names of the Debian packages that the image already has.
    """

    wants: ScriptRequirements
    programs: Path
    site: Path
    additions: Path | None
    installed: frozenset[str] = frozenset()


def toolkit_plans(wants: ScriptRequirements, image: Plan) -> tuple[Plan, Plan | None]:
    """Return the plan of the Python packages, and that of the Debian packages over an image.

    The image has to be built already.
    """
    programs = load_plan(TOOLKIT_RECIPE)
    assert programs is not None, "the recipe of the verifier builds an image"
    script = _PIP.format(site=_SITE, packages=shlex.join(wants.pip))
    packages = programs.then(
        Run(script=script, as_root=True), f"pip {shlex.join(wants.pip)}", "test script"
    )
    missing = [name for name in wants.apt if name not in _installed(image)]
    if not missing:
        return packages, None
    install = Run(
        script=_APT.format(packages=shlex.join(missing)),
        env={"DEBIAN_FRONTEND": "noninteractive"},
        as_root=True,
    )
    return packages, image.then(install, f"apt {' '.join(missing)}", "test script")


def build_toolkit(rules: SandboxRules, builds: ImageBuilder, tell: Callable[[str], None]) -> None:
    """Build the missing parts of a task's toolkit; the images of its sandboxes are built already.

    Raises:
        SandboxError: A required package is not available.
    """
    programs = load_plan(TOOLKIT_RECIPE)
    assert programs is not None, "the recipe of the verifier builds an image"
    if find_image(programs.name) is None:
        tell(f"building {TOOLKIT_RECIPE}")
        builds.build(programs)
    wants = requirements_of(rules)
    image = sandbox_plan(rules.verifier or rules.sandbox, Sources())
    try:
        for plan in toolkit_plans(wants, image):
            if plan is not None and ImageLayout().layers_of(plan.name) is None:
                builds.build(plan)
    except SandboxError as error:
        raise SandboxError(f"the tests cannot be prepared: {error}") from error


def find_toolkit(wants: ScriptRequirements, image: Plan) -> Toolkit:
    """Return the prepared toolkit.

    Raises:
        VerifierError: The toolkit is not prepared.
    """
    packages, additions = toolkit_plans(wants, image)
    programs = packages.steps[-2].digest
    return Toolkit(
        wants=wants,
        programs=_kept(programs, "programs", _unpack_programs),
        site=_kept(packages.name, "site.tar", _pack_site),
        additions=_kept(additions.name, "additions.tar", _pack_additions) if additions else None,
        installed=_installed(image),
    )


def _installed(image: Plan) -> frozenset[str]:
    """Return the names of the Debian packages in a built image."""
    found = find_image(image.name)
    for layer in reversed(found.layers if found else ()):
        if (names := _listed(layer.path, layer.compressed)) is not None:
            return names
    return frozenset()


@functools.lru_cache(maxsize=256)
def _listed(path: Path, compressed: bool) -> frozenset[str] | None:
    for _, member, archive in _below([Layer("", path, compressed)], "var/lib/dpkg"):
        if member.name.endswith("dpkg/status") and (file := archive.extractfile(member)):
            stanzas = file.read().decode("utf-8", "replace").split("\n\n")
            there = (text for text in stanzas if "Status: install ok installed" in text)
            return frozenset(text.partition("\n")[0].removeprefix("Package: ") for text in there)
    return None


# --- from layers to files --------------------------------------------------------------------


def _kept(step: str, name: str, make: Callable[[Sequence[Layer], Path], None]) -> Path:
    """Return a file or folder that is made once from the layers of a step."""
    target = catalogue.cache_dir() / "verifier" / f"{step}-{name}"
    if not target.exists():
        found = ImageLayout().layers_of(step)
        if found is None:
            raise VerifierError(
                "what the tests need is not prepared, or was removed; run: agentgym eval again"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        make(found[0], draft)
        try:
            os.rename(draft, target)
        except OSError:
            # Another process was faster and made the same.
            shutil.rmtree(draft, ignore_errors=True)
    return target


def _unpack_programs(layers: Sequence[Layer], target: Path) -> None:
    for name, member, archive in _below(layers, _FOLDER):
        if member.isfile():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            file = archive.extractfile(member)
            assert file is not None
            path.write_bytes(file.read())
            path.chmod(member.mode & 0o755)


def _pack_site(layers: Sequence[Layer], target: Path) -> None:
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as packed:
        for name, member, archive in _below(layers, _SITE):
            _copy_member(archive, member, name, packed)


def _pack_additions(layers: Sequence[Layer], target: Path) -> None:
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as packed:
        for name, member, archive in _below(layers, ""):
            hidden = PurePosixPath(name).name.startswith(".wh.")
            if not hidden and not any(_is_below(name, own) for own in _APT_OWN):
                _copy_member(archive, member, name, packed)


def _copy_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, name: str, packed: tarfile.TarFile
) -> None:
    file = archive.extractfile(member) if member.isfile() else None
    if member.islnk():
        member.linkname = member.linkname.removeprefix(f"{_SITE}/")
    member.name, member.pax_headers = name, {}
    packed.addfile(member, file)


def _below(
    layers: Sequence[Layer], folder: str
) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
    for layer in layers:
        with tarfile.open(layer.path, "r:*") as archive:
            for member in archive:
                path = member.name.removeprefix("./").rstrip("/")
                if _is_below(path, folder) and path != folder:
                    yield path.removeprefix(folder).lstrip("/"), member, archive


def _is_below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")
