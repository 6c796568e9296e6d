"""What is kept on this machine and no task or recipe of today asks for."""

from __future__ import annotations

from agentgym import catalogue
from agentgym.env.ground import ground_of
from agentgym.errors import AgentGymError
from agentgym.sandbox.recipe import load_plan
from agentgym.task.kept import KeptSetup, kept_setups
from agentgym.task.load import find_task
from agentgym.task.model import Instance
from agentgym.task.setup import setup_key


def wanted_images() -> dict[str, str]:
    """Return the images of today's recipes: name of the image to name of the recipe."""
    found = {}
    for recipe in catalogue.folders("sandboxes"):
        try:
            plan = load_plan(recipe)
        except AgentGymError:
            # Broken today; what it wants is known when it is mended.
            continue
        if plan is not None:
            found[plan.name] = recipe
    return found


def sort_setups() -> tuple[list[KeptSetup], list[KeptSetup]]:
    """Return the kept setups that a task of today would use, and the others."""
    wanted: list[KeptSetup] = []
    stale: list[KeptSetup] = []
    for setup in kept_setups():
        (wanted if _is_wanted(setup) else stale).append(setup)
    return wanted, stale


def _is_wanted(setup: KeptSetup) -> bool:
    if setup.params is None:
        return False
    try:
        task = find_task(setup.task)
        recipe = ground_of(task).recipe
        instance = Instance(task, 0, setup.params, "")
        return setup_key(instance, setup.provider, recipe) == setup.key
    except AgentGymError:
        return False
