"""Reads `sandboxes/<name>/recipe.toml` as a Recipe and as the plan of its image."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agentgym import catalogue
from agentgym.errors import SandboxError
from agentgym.records import Json, Limits, Recipe, Service
from agentgym.sandbox.build.plan import Plan
from agentgym.sandbox.build.planner import plan_recipe, read_manifest
from agentgym.sandbox.build.settings import Settings
from agentgym.sandbox.images import find_image
from agentgym.sandbox.rootimage import user_of

_PORT = re.compile(r"[0-9]{1,5}")


def load_recipe(name: str) -> Recipe:
    """Return the recipe with a catalogue name; builds nothing.

    If its image is built, the recipe contains the image's variables, user and working directory.

    Raises:
        NotFoundError: No such folder.
        SandboxError: The recipe is invalid; names file, line and field.
    """
    manifest = read_manifest(catalogue.find("sandboxes", name))
    plan = load_plan(name)
    found = settings_of(plan)
    return Recipe(
        name=name,
        image=plan.name if plan else "",
        network=manifest.network,
        allow=manifest.allow,
        limits=manifest.limits.over(Limits()),
        env={**found.env, **manifest.env},
        user=user_of(manifest.user or found.user),
        workdir=manifest.workdir or found.workdir or "/root",
        services=tuple(Service(**service.model_dump()) for service in manifest.services),
        ports=manifest.ports or _exposed(found.other),
        hostname=manifest.hostname,
    )


def settings_of(plan: Plan | None) -> Settings:
    """Return the settings of a plan's image if it is built."""
    image = find_image(plan.name) if plan else None
    return Settings.of(image.config if image else {})


def load_plan(name: str) -> Plan | None:
    """Return the plan of a recipe's image, or None if its root is the host's.

    Raises:
        NotFoundError: No such folder.
        SandboxError: The recipe is invalid, or builds on itself.
    """
    return _plan(name, ())


def _plan(name: str, above: tuple[str, ...]) -> Plan | None:
    if name in above:
        circle = " → ".join([*above[above.index(name) :], name])
        raise SandboxError(f"recipe {name!r} builds on itself: {circle}; give it another base")
    folder = catalogue.find("sandboxes", name)
    manifest = read_manifest(folder)
    if manifest.base == "host":
        return None
    return plan_recipe(folder, manifest, lambda base: _plan(base, (*above, name)))


def _exposed(config: Mapping[str, Json]) -> tuple[int, ...]:
    ports = config.get("ExposedPorts")
    named = ports if isinstance(ports, Mapping) else {}
    numbers = [port.removesuffix("/tcp") for port in named if port.endswith("/tcp")]
    return tuple(sorted(int(number) for number in numbers if _PORT.fullmatch(number)))
