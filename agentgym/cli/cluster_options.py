"""The options that put episodes on a cluster, with their help texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from agentgym.cluster.place import ClusterOptions


def _option(*names: str, **told: Any) -> Any:
    return typer.Option(*names, rich_help_panel="Cluster", **told)


Cluster: TypeAlias = Annotated[
    str | None,
    _option(
        "--cluster",
        metavar="ADDRESS",
        help="Play on a Ray cluster: 'auto' for this node's, HOST:PORT, or 'local' for a new one "
        "of this machine. The bound on concurrent episodes is that of all workers together.",
    ),
]
Workers: TypeAlias = Annotated[int, _option("--workers", min=1, help="Workers on the cluster.")]
WorkerCpus: TypeAlias = Annotated[
    float, _option("--worker-cpus", min=0.0, help="Processors that a worker asks for.")
]
WorkerGpus: TypeAlias = Annotated[
    float, _option("--worker-gpus", min=0.0, help="GPUs that a worker asks for.")
]
WorkerMemoryMb: TypeAlias = Annotated[
    int, _option("--worker-memory-mb", min=0, help="Memory that a worker asks for.")
]
WorkerResources: TypeAlias = Annotated[
    list[str] | None,
    _option(
        "--worker-resource",
        metavar="NAME=AMOUNT",
        help="Resource of a node that a worker asks for; repeatable.",
    ),
]


def read_cluster(
    address: str | None,
    workers: int,
    cpus: float,
    gpus: float,
    memory_mb: int,
    resources: list[str] | None,
) -> ClusterOptions | None:
    """Return the cluster that the options name, None without an address.

    Raises:
        ConfigError: A resource has another form.
        MissingExtraError: Ray is not installed.
    """
    if address is None:
        return None
    from agentgym.cluster import ray_workers  # noqa: F401 - a missing extra is told at once
    from agentgym.cluster.place import ClusterOptions, Place, read_resources

    place = Place(cpus, gpus, memory_mb, read_resources(tuple(resources or ())))
    return ClusterOptions(address, workers, place)
