"""The names of a store's layers: what a stack of them is made of, and what it has below them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from agentgym.errors import SandboxError
from agentgym.sandbox.hostroot import foundation_name
from agentgym.sandbox.images import Image

# A mount accepts about 64 layers.
MAX_LAYERS: Final = 60
# Host folders that a guest sees below its layers if its root is the host's.
BINDS = {"/usr": "/usr"}
# Images with more layers are merged into one, so that snapshots have enough left.
_MAX_IMAGE_LAYERS: Final = 40
_HOST, _IMAGE, _FOUNDATION = "l/host-", "l/img-", "l/root-"


def base_of(layers: Sequence[str]) -> tuple[str, ...]:
    """Return the base layers of a stack, which no sandbox wrote."""
    first = len(layers)
    while first and layers[first - 1].startswith((_HOST, _IMAGE, _FOUNDATION)):
        first -= 1
    return tuple(layers[first:])


def binds_of(layers: Sequence[str]) -> dict[str, str]:
    """Return the binds visible below a stack of layers: guest to host directory."""
    return BINDS if layers[-1].startswith(_HOST) else {}


def image_layers(image: Image) -> tuple[str, ...]:
    """Return the store's names of an image's layers, topmost first, present or not."""
    names = [layer.diff_id.rpartition(":")[2] for layer in reversed(image.layers)]
    if len(names) > _MAX_IMAGE_LAYERS:
        names = [hashlib.sha256(" ".join(names).encode()).hexdigest()]
    return (*(f"{_IMAGE}{name[:16]}" for name in names), f"l/{foundation_name()}")


def layers_above(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """Return the layers that a stack adds to another, topmost first; several after forks.

    Raises:
        SandboxError: The stack does not contain the other.
    """
    added = len(after) - len(before)
    if added < 0 or tuple(after[added:]) != tuple(before):
        raise SandboxError("it does not build on the layers that the setup left")
    return tuple(after[:added])
