"""Stand-ins: recipes that take the place of images which no registry gives, as they declare.

A recipe says in ``stands_for`` which images it may stand for. An image that was fetched is
always preferred; what stood for what is told by `Sources.image_fallbacks` and never is silent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from agentgym import catalogue
from agentgym.errors import AgentGymError, NotFoundError
from agentgym.sandbox.build.builder import Builds, Tell
from agentgym.sandbox.build.instructions import plan_dockerfile
from agentgym.sandbox.build.plan import Plan, Pull
from agentgym.sandbox.build.planner import read_manifest
from agentgym.sandbox.images import ImageLayout
from agentgym.sandbox.recipe import load_plan

_HUB = ("docker.io/library/", "docker.io/", "index.docker.io/library/")
_asked: set[str] = set()
"""Images that this process has asked a registry for; once is enough."""


@dataclass
class Sources:
    """Finds the plans that Dockerfiles begin with, and notes where they come from.

    Attributes:
        image_fallbacks: Image to the recipe that stands for it.
        images: Images that were asked for by name, fallbacks among them.
    """

    image_fallbacks: dict[str, str] = field(default_factory=dict)
    images: list[str] = field(default_factory=list)

    def find(self, name: str) -> Plan | None:
        """Return the plan of a recipe, or of what stands for an image.

        Raises:
            NotFoundError: It is an image, and nothing has to stand for it.
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
        SandboxError: It asks for what is not supported.
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
    """Return the recipe that declares to stand for an image, the last one by name."""
    found = None
    for name, folder in catalogue.folders("sandboxes").items():
        patterns = read_manifest(folder).stands_for
        if any(fnmatchcase(_short(image), pattern) for pattern in patterns):
            found = name
    return found


def is_here(image: str) -> bool:
    """Whether an image was fetched."""
    return ImageLayout().layers_of(_pull(image).name) is not None


def fetch(images: Iterable[str], builds: Builds, tell: Tell) -> None:
    """Try once to fetch images that something could stand for; a failure is only told."""
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
    """Return an image as people write it, always with a tag."""
    name = next((image.removeprefix(hub) for hub in _HUB if image.startswith(hub)), image)
    return name if ":" in name.rpartition("/")[2] or "@" in name else f"{name}:latest"
