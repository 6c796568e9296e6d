"""Images of recipes for tests: what is built once takes minutes, so nothing is built twice."""

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from agentgym import catalogue
from agentgym.sandbox.images import ImageLayout, Layer
from agentgym.sandbox.recipe import load_plan

# Read at import, before the session's tests get a cache of their own.
USERS = catalogue.cache_dir() / "images"
KEPT = ("images", "gold", "verifier", "again")


def keep_builds(monkeypatch):
    """Build in a cache that is kept between sessions; skip the test if nothing can be built.

    `$AGENTGYM_TEST_CACHE` names it. The steps that the user's cache has need not run again: setting
    up the tests has built one recipe there. Sandboxes are this session's own, since its temporary
    folders may lie in memory. Returns the path of the cache.
    """
    if os.geteuid() != 0:
        pytest.skip("debootstrap needs root")
    if shutil.which("debootstrap", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip("debootstrap is not installed (apt-get install debootstrap)")
    kept = Path(os.environ.get("AGENTGYM_TEST_CACHE", "/var/cache/agentgym-test"))
    cache = catalogue.cache_dir().with_name("builds")
    cache.mkdir(exist_ok=True)
    for name in KEPT:
        (kept / name).mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (cache / name).symlink_to(kept / name)
    monkeypatch.setenv("AGENTGYM_CACHE", str(cache))
    own, users = ImageLayout(), ImageLayout(USERS)
    steps = {path.stem for path in users.root.glob("steps/*.json")}
    missing = [step for step in sorted(steps) if own.layers_of(step) is None]
    found = [(step, done) for step in missing if (done := users.layers_of(step))]
    if found:
        with own.locked():
            for step, (layers, config) in found:
                own.finish_step(step, [adopt(own, layer) for layer in layers], config)
    return cache


def take_image(recipe):
    """Let the session's cache have the user's image; skip the test if it was not built."""
    name, own, users = load_plan(recipe).name, ImageLayout(), ImageLayout(USERS)
    if own.find(name):
        return
    image = users.find(name)
    if image is None:
        pytest.skip(f"the image is not built; run: agentgym sandbox build {recipe}")
    with own.locked():
        own.write_image(name, [adopt(own, layer) for layer in image.layers], image.config)


def adopt(own, layer):
    staged = own.root / "tmp" / layer.path.name
    try:
        os.link(layer.path, staged)
    except OSError:
        shutil.copyfile(layer.path, staged)
    digest = own.adopt(staged)
    staged.unlink()
    return Layer(layer.diff_id, own.blob(digest), layer.compressed)
