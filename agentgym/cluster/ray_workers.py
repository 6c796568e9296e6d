"""Workers as actors of a Ray cluster (ray.io, 2.x): each is a process on some node.

A node is chosen by what a worker asks for. Ray restarts no actor and repeats no call here:
`Workers` decides about both.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

from agentgym.cluster.place import Place, Role
from agentgym.cluster.workers import Worker, WorkerLostError
from agentgym.errors import ConfigError
from agentgym.installation import missing_extra

try:
    import ray
    from ray.exceptions import (
        GetTimeoutError,
        ObjectLostError,
        RayActorError,
        RayTaskError,
    )
except ImportError as error:
    raise missing_extra("ray", "ray") from error

LOCAL: Final = "local"
"""Address that starts a cluster of this machine alone, which ends with the block."""

_SEARCH_PATH: Final = "AGENTGYM_PATH"

J = TypeVar("J")
R = TypeVar("R")
V = TypeVar("V")


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[None]:
    """Connect to a cluster for the time of a block.

    Args:
        address: ``"auto"`` for the cluster of this node, ``"HOST:PORT"``, or `LOCAL`.

    Raises:
        ConfigError: There is no such cluster, or this process is connected to one.
    """
    if ray.is_initialized():
        raise ConfigError("this process is connected to a Ray cluster; disconnect it first")
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == LOCAL:
        # Without an address Ray connects to any cluster that was started here, even a dead one.
        options |= {"address": "local", "include_dashboard": False}
    else:
        options |= {"address": address}
    try:
        await asyncio.to_thread(ray.init, **options)
    except Exception as error:  # Ray raises plain ones, too.
        told = str(error).split("\n")[0][:300]
        raise ConfigError(
            f"Ray cluster {address!r}: {told}; start one: ray start --head"
        ) from error
    try:
        yield
    finally:
        await asyncio.to_thread(ray.shutdown)


@dataclass(frozen=True, slots=True)
class RayShared(Generic[V]):
    """A value in the object store of a cluster; `share` makes it."""

    reference: Any

    async def read(self) -> V:
        """Return the value."""
        return cast(V, await self.reference)


def share(value: V) -> RayShared[V]:
    """Put a value into the object store of the cluster; it stays while a job refers to it."""
    return RayShared(ray.put(value))


async def start_worker(role: Role, place: Place, jobs: int) -> Worker[Any, Any]:
    """Start a worker on a node that has room for it, and wait until it is open.

    Args:
        role: What it does.
        place: What it asks for.
        jobs: Largest number of jobs at a time.

    Raises:
        WorkerLostError: It died before it was open.
        Exception: What its work raised when it was opened.
    """
    actor_class = ray.remote(_Actor)
    actor = actor_class.options(
        num_cpus=place.cpus,
        num_gpus=place.gpus,
        memory=place.memory_mb * 2**20 or None,
        resources=dict(place.resources) or None,
        # One more than its jobs, so that it can be closed meanwhile.
        max_concurrency=jobs + 1,
        max_restarts=0,
        max_task_retries=0,
        scheduling_strategy="SPREAD",
    ).remote(role, os.getcwd(), os.environ.get(_SEARCH_PATH, ""))
    worker = RayWorker[Any, Any](actor)
    try:
        await worker.open()
    except BaseException:
        worker.kill()
        raise
    return worker


class RayWorker(Generic[J, R]):
    """A worker that is an actor; `start_worker` makes it."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def open(self) -> None:
        """Wait until it is open."""
        await _result(self._actor.open.remote())

    async def do(self, job: J) -> R:
        """Do a job."""
        return cast(R, await _result(self._actor.do.remote(job)))

    async def close(self) -> None:
        """Let it release what it holds, and end its process."""
        try:
            await _result(self._actor.close.remote())
        except WorkerLostError:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """End its process. A worker that cannot be reached must not go on either."""
        with suppress(Exception):
            ray.kill(self._actor)


async def _result(reference: Any) -> Any:
    """Return the result of a call, and raise what the call raised itself."""
    try:
        return await asyncio.wrap_future(reference.future())
    except asyncio.CancelledError:
        with suppress(Exception):
            ray.cancel(reference)
        raise
    except RayTaskError as error:
        cause = getattr(error, "cause", None)
        raise (cause if isinstance(cause, Exception) else error) from None
    except (RayActorError, ObjectLostError, GetTimeoutError) as error:
        raise WorkerLostError(str(error).split("\n")[0][:300]) from error


class _Actor:
    """The process of a worker: makes its work, and does jobs."""

    def __init__(self, role: Role, folder: str, search_path: str) -> None:
        # Tasks and agents that are named by paths are found as on the machine of the caller.
        if Path(folder).is_dir():
            os.chdir(folder)
        if search_path:
            os.environ[_SEARCH_PATH] = search_path
        work = getattr(importlib.import_module(role.module), role.name)
        self._work = work(*role.arguments)

    async def open(self) -> None:
        """Open its work."""
        await self._work.open()

    async def do(self, job: Any) -> Any:
        """Do a job."""
        return await self._work.do(job)

    async def close(self) -> None:
        """Close its work."""
        await self._work.close()
