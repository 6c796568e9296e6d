"""Finds cached images and setups that no current task or recipe needs."""

from __future__ import annotations

from agentgym import catalogue
from agentgym.env.resolved_task import resolve_task
from agentgym.errors import AgentGymError
from agentgym.sandbox.recipe import load_plan
from agentgym.task.load import find_task
from agentgym.task.model import Instance
from agentgym.task.setup import setup_key
from agentgym.task.setup_cache import CachedSetup, cached_setups


def wanted_images() -> dict[str, str]:
    """Return the images of the current recipes: name of the image to name of the recipe."""
    found = {}
    for recipe in catalogue.folders("sandboxes"):
        try:
            plan = load_plan(recipe)
        except AgentGymError:
            # A broken recipe's image is unknown until the recipe is repaired.
            continue
        if plan is not None:
            found[plan.name] = recipe
    return found


def sort_setups() -> tuple[list[CachedSetup], list[CachedSetup]]:
    """Return the cached setups that a current task would use, and the others."""
    wanted: list[CachedSetup] = []
    stale: list[CachedSetup] = []
    for setup in cached_setups():
        (wanted if _is_wanted(setup) else stale).append(setup)
    return wanted, stale


def _is_wanted(setup: CachedSetup) -> bool:
    if setup.params is None:
        return False
    try:
        task = find_task(setup.task)
        recipe = resolve_task(task).recipe
        instance = Instance(task, 0, setup.params, "")
        return setup_key(instance, setup.provider, recipe) == setup.key
    except AgentGymError:
        return False
