"""Images of recipes for tests, from the user's cache: building them takes minutes."""

import os
import shutil

import pytest

from agentgym import catalogue
from agentgym.sandbox.images import ImageLayout, Layer
from agentgym.sandbox.recipe import load_plan

# Read at import, before the session's tests get a cache of their own.
USERS = catalogue.cache_dir() / "images"


def take_image(recipe):
    """Let the session's cache have the image; skip the test if it was not built."""
    name, own, users = load_plan(recipe).name, ImageLayout(), ImageLayout(USERS)
    if own.find(name):
        return
    image = users.find(name)
    if image is None:
        pytest.skip(f"the image is not built; run: agentgym sandbox build {recipe}")
    with own.locked():
        layers = [
            Layer(one.diff_id, own.blob(adopt(own, one)), one.compressed) for one in image.layers
        ]
        own.write_image(name, layers, image.config)


def adopt(own, layer):
    staged = own.root / "tmp" / layer.path.name
    try:
        os.link(layer.path, staged)
    except OSError:
        shutil.copyfile(layer.path, staged)
    digest = own.adopt(staged)
    staged.unlink()
    return digest
