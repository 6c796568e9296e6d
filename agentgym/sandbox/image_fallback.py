"""Image fallbacks: recipes that replace images which no registry provides.

A recipe lists in ``stands_for`` the images that it may replace. A fetched image always takes
precedence. `Sources.image_fallbacks` reports every replacement.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agentgym import catalogue
from agentgym.errors import AgentGymError, NotFoundError
from agentgym.records.pattern import fits_glob
from agentgym.sandbox.build.builder import Builds, Tell
from agentgym.sandbox.build.instructions import plan_dockerfile
from agentgym.sandbox.build.plan import Plan, Pull
from agentgym.sandbox.build.planner import read_manifest
from agentgym.sandbox.images import ImageLayout
from agentgym.sandbox.recipe import load_plan

_HUB = ("docker.io/library/", "docker.io/", "index.docker.io/library/")
_asked: set[str] = set()
"""Images that this process has requested from a registry; it requests each only once."""


@dataclass
class Sources:
    """Finds the plans of base images in Dockerfiles, and records their origin.

    Attributes:
        image_fallbacks: Image to the recipe that replaces it.
        images: Images that were asked for by name, including replaced ones.
    """

    image_fallbacks: dict[str, str] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)

    def find(self, name: str) -> Plan | None:
        """Return the plan of a recipe, or of the recipe that replaces an image.

        Raises:
            NotFoundError: The name means an image, and no recipe has to replace it.
        """
        if name in catalogue.folders("sandboxes"):
            return load_plan(name)
        self.images.append(name)
        recipe = None if is_here(name) else fallback_for(name)
        if recipe is None:
            raise NotFoundError("sandbox recipe", name, ())
        self.image_fallbacks[name] = recipe
        return load_plan(recipe)


def plan_context(context: Path, sources: Sources) -> Plan:
    """Return the plan of the Dockerfile in a folder.

    Raises:
        SandboxError: The Dockerfile uses an unsupported feature.
    """
    return plan_dockerfile(context, "Dockerfile", sources.find)


def plan_image(image: str, sources: Sources) -> Plan:
    """Return the plan of an image alone."""
    try:
        plan = sources.find(image)
    except NotFoundError:
        plan = None
    return plan or _pull(image)


def fallback_for(image: str) -> str | None:
    """Return the recipe that declares to replace an image; of several, the last by name."""
    found = None
    for name, folder in catalogue.folders("sandboxes").items():
        patterns = read_manifest(folder).stands_for
        if any(fits_glob(_short(image), pattern) for pattern in patterns):
            found = name
    return found


def is_here(image: str) -> bool:
    """Return whether an image was fetched."""
    return ImageLayout().layers_of(_pull(image).name) is not None


def fetch(images: Iterable[str], builds: Builds, tell: Tell) -> None:
    """Try once to fetch the images that have a fallback; only report a failure."""
    for image in dict.fromkeys(images):
        if image in _asked or is_here(image) or fallback_for(image) is None:
            continue
        _asked.add(image)
        try:
            builds.build(_pull(image))
        except AgentGymError as error:
            why = str(error).splitlines()[0].rpartition(": ")[2].rstrip('"')
            tell(f"{image} cannot be fetched; recipe {fallback_for(image)} stands for it ({why})")


def _pull(image: str) -> Plan:
    return Plan(()).then(Pull(image), f"FROM {image}", image)


def _short(image: str) -> str:
    """Return an image's usual short name, always with a tag."""
    name = next((image.removeprefix(hub) for hub in _HUB if image.startswith(hub)), image)
    return name if ":" in name.rpartition("/")[2] or "@" in name else f"{name}:latest"
