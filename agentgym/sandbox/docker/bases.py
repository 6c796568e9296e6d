"""The base images of Docker sandboxes: what they are made of, and their names and labels.

    agentgym/host:<content>      the base image of the `host` recipe
    agentgym/root:<name>-…       the image of a built recipe

The name of an image changes with everything that it is made of.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

from agentgym.sandbox.docker.engine import Engine, Image
from agentgym.sandbox.hostroot import (
    build_foundation,
    build_host_layer,
    foundation_name,
    host_layer_name,
)
from agentgym.sandbox.images import Image as BuiltImage
from agentgym.sandbox.images import all_images
from agentgym.sandbox.layer_names import BINDS
from agentgym.sandbox.unpack import unpack

# The base of an image, and the number of its layers that belong to the base.
BASE: Final = "agentgym.base"
DEPTH: Final = "agentgym.base-layers"
_HOST, _ROOT = "agentgym/host:", "agentgym/root:"


def host_name() -> str:
    """Return the name of the base image of the `host` recipe; its content decides it."""
    content = repr((host_layer_name(), host_folders(), _host_links()))
    return f"{_HOST}{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def root_name(image: BuiltImage) -> str:
    """Return the name of the image of a built recipe."""
    # A plan built twice may give two images. A tag takes few characters.
    name, built = image.name.replace(":", "-")[:64], image.digest.rpartition(":")[2][:12]
    return f"{_ROOT}{name}-{built}-{foundation_name()}"


def is_current(image: Image) -> bool:
    """Return whether an image has a current base: this host's or a current built image."""
    label = image.labels.get(BASE, "")
    return label == host_name() or label in [root_name(image) for image in all_images()]


def is_over_host(image: Image) -> bool:
    """Return whether containers of an image see the host's /usr."""
    return image.labels[BASE].startswith(_HOST)


def is_over(engine: Engine, image: str, base: str) -> bool:
    """Return whether an image is a snapshot over a base image."""
    labels = (engine.image(name).labels for name in (image, base))
    return len({label[BASE] for label in labels}) == 1


def base_labels(image: Image) -> dict[str, str]:
    """Return the labels that an image hands on to the snapshots over it."""
    return {name: image.labels[name] for name in (BASE, DEPTH)}


def binds_of(image: Image) -> dict[str, str]:
    """Return the binds visible below an image: guest to host directory."""
    return BINDS if is_over_host(image) else {}


def build_host(room: Path) -> list[str]:
    """Build the layers of the `host` recipe in a folder and return their paths, lowest first."""
    folder = room / "host"
    build_host_layer(folder, os.getuid())
    for path in host_folders():
        (folder / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
    for path, target in _host_links().items():
        (folder / path.lstrip("/")).symlink_to(target)
    return [str(folder)]


def build_root(image: BuiltImage, room: Path) -> list[str]:
    """Build the layers of a built recipe in a folder and return their paths, lowest first."""
    folders = [str(room / str(number)) for number in range(len(image.layers) + 1)]
    build_foundation(Path(folders[0]), os.getuid())
    for layer, folder in zip(image.layers, folders[1:], strict=True):
        unpack(layer, Path(folder), first_id=0)
    return folders


def host_folders() -> list[str]:
    """Return the folders of the host that guests see, read-only: all of /usr but /usr/local."""
    with os.scandir("/usr") as entries:
        return sorted(
            entry.path
            for entry in entries
            if entry.is_dir(follow_symlinks=False) and entry.name != "local"
        )


def _host_links() -> dict[str, str]:
    with os.scandir("/usr") as entries:
        found = {entry.path: os.readlink(entry.path) for entry in entries if entry.is_symlink()}
    return dict(sorted(found.items()))
