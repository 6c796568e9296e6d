"""The cluster that a run asks for: its workers, their work, and what each asks of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentgym.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Place:
    """The share of a node that a worker asks for; Ray puts it on a node that has so much left.

    Attributes:
        cpus: Processors, which may be a fraction.
        gpus: GPUs.
        memory_mb: Memory that is reserved for it, in megabytes.
        resources: Resources that the nodes of the cluster declare, such as ``{"sandbox": 1}``.
    """

    cpus: float = 1.0
    gpus: float = 0.0
    memory_mb: int = 0
    resources: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Role:
    """The work of a worker: a class that its process imports and makes.

    Attributes:
        module: Module of the class of its work, which is imported on its node.
        name: Name of the class: it has ``open()``, ``do(job)`` and ``close()``, all coroutines.
        arguments: The arguments of the class.
    """

    module: str
    name: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """A cluster, and its workers.

    Attributes:
        address: Address of a Ray cluster; see `agentgym.cluster.ray_workers.connected`.
        workers: Number of workers.
        place: What each worker asks for.
    """

    address: str
    workers: int
    place: Place = Place()


def read_resources(texts: tuple[str, ...]) -> dict[str, float]:
    """Read resources such as ``sandbox=1``.

    Raises:
        ConfigError: One has another form.
    """
    found = dict[str, float]()
    for text in texts:
        name, _, amount = text.partition("=")
        try:
            found[name] = float(amount)
        except ValueError:
            found[name] = -1
        if not name or not 0 < found[name] < float("inf"):
            raise ConfigError(f"resource {text!r:.80}: expected NAME=AMOUNT, such as sandbox=1")
    return found
