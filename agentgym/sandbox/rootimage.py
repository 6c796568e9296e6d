"""Combines a recipe with the settings of its built image."""

from __future__ import annotations

from dataclasses import replace

from agentgym import catalogue
from agentgym.errors import SandboxError
from agentgym.records import Recipe
from agentgym.sandbox.images import Image, find_image


def user_of(text: str) -> str:
    """Return a user for comparisons: "root" for an empty text and every spelling of root."""
    user, _, group = text.partition(":")
    return "root" if user in ("", "root", "0") and group in ("", "root", "0") else text


def with_user(recipe: Recipe) -> Recipe:
    """Return a recipe whose user is called "root" if it is root."""
    return replace(recipe, user=user_of(recipe.user))


def built(recipe: Recipe) -> Image:
    """Return the image of a recipe.

    Raises:
        SandboxError: The image is not built, or was removed.
    """
    image = find_image(recipe.image)
    if image is None and recipe.name not in catalogue.folders("sandboxes"):
        raise SandboxError(
            f"the image of {recipe.name!r} is not built; `agentgym eval` and `agentgym.make` "
            "build it where they are given the path of its folder"
        )
    if image is None:
        raise SandboxError(
            f"recipe {recipe.name!r} is not built; run: agentgym sandbox build {recipe.name}"
        )
    return image


def other_root(recipe: Recipe) -> SandboxError:
    """Return the error for a snapshot that is not based on a recipe's image."""
    return SandboxError(f"the snapshot has another root than recipe {recipe.name!r} has now")


def with_image(recipe: Recipe, image: Image) -> Recipe:
    """Return a recipe with the variables of its image; its own variables take precedence."""
    lines = image.config.get("Env") or ()
    assert not isinstance(lines, (str, int, float))
    base = dict(str(line).partition("=")[::2] for line in lines)
    return replace(recipe, env={**base, **recipe.env})
