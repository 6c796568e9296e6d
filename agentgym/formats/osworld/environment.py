"""The offer of an environment: its Debian packages, and whether it has a screen."""

from __future__ import annotations

from dataclasses import dataclass

from agentgym import catalogue
from agentgym.env.spec import load_env_spec
from agentgym.sandbox.build.planner import read_manifest

_SURFACE = "desktop"


@dataclass(frozen=True)
class Offered:
    """The offer of an environment.

    Attributes:
        packages: Debian packages of its recipe and of those that it builds on.
        is_host: Whether its programs are those of this machine.
        has_screen: Whether it has a desktop.
        user: User of its commands; empty for root.
    """

    packages: tuple[str, ...]
    is_host: bool
    has_screen: bool
    user: str


def offered(env: str) -> Offered:
    """Return what an environment offers; builds nothing.

    Raises:
        NotFoundError: No such environment.
        AgentGymError: It, or its recipe, cannot be read.
    """
    spec = load_env_spec(env)
    packages: list[str] = []
    name, user = spec.sandbox or "", ""
    seen: set[str] = set()
    while name not in (*seen, "host") and name in catalogue.folders("sandboxes"):
        seen.add(name)
        manifest = read_manifest(catalogue.find("sandboxes", name))
        packages += manifest.apt
        user = user or manifest.user
        name = manifest.base
    has_screen = any(surface == _SURFACE for surface in spec.surfaces)
    return Offered(tuple(packages), name == "host", has_screen, "" if user == "root" else user)
