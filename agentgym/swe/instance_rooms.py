"""Clean rooms over the environment of an instance, and the image they start from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from agentgym.protocols import Room, SandboxProvider
from agentgym.records import Limits, Recipe, Snapshot
from agentgym.sandbox.build.builder import Builds, Tell
from agentgym.sandbox.image_fallback import Sources, plan_context
from agentgym.sandbox.images import find_image
from agentgym.sandbox.recipe import settings_of
from agentgym.sandbox.rootimage import user_of
from agentgym.swe.specs.image import REPOSITORY
from agentgym.verify.room import CleanRooms

LIMITS: Final = Limits(memory_mb=4096, pids=2048, disk_mb=8192, wall_s=None)
_PLUGINS: Final = (
    "import importlib.metadata as m, json;"
    "print(json.dumps(sorted({e.name for e in m.entry_points(group='pytest11')})))"
)
_UNWANTED: Final = frozenset({"xdist", "xdist.looponfail", "pytest_cov", "cov", "randomly"})
"""Plug-ins that distribute tests, measure them, or change their order."""
_SPARE_S: Final = 120.0

T = TypeVar("T")


def image_recipe(context: Path, name: str) -> Recipe:
    """Return the recipe of the image of a Dockerfile's folder, without a network.

    Raises:
        SandboxError: The Dockerfile cannot be read.
    """
    plan = plan_context(context, Sources())
    found = settings_of(plan)
    return Recipe(
        name=name,
        image=plan.name,
        limits=LIMITS,
        env=found.env,
        user=user_of(found.user),
        workdir=found.workdir or REPOSITORY,
    )


def build_context(context: Path, builds: Builds, tell: Tell) -> None:
    """Build the image of a Dockerfile's folder, if it is not built yet.

    Raises:
        SandboxError: A step failed.
    """
    plan = plan_context(context, Sources())
    if find_image(plan.name) is None:
        tell(f"building the environment {context.parent.name}")
        builds.build(plan)


@dataclass(frozen=True, slots=True)
class Ground:
    """The files from which clean rooms start, before anybody changed the repository.

    Attributes:
        provider: Starts the sandboxes.
        recipe: Their recipe.
        pristine: Their files.
        plugins: Names of the pytest plug-ins that are installed there.
    """

    provider: SandboxProvider
    recipe: Recipe
    pristine: Snapshot
    plugins: tuple[str, ...] = ()

    async def grade(self, work: Callable[[Callable[[], Room]], T], *, commands_s: float) -> T:
        """Run a function that opens clean rooms, on a worker thread.

        Args:
            work: It gets a function that opens a fresh room; the room before is then closed.
            commands_s: Seconds for all commands of the rooms together.

        Raises:
            SandboxError: A room could not be started, or broke.
        """
        tree = await self.provider.open_tree(self.pristine)
        rooms = CleanRooms(
            self.provider, self.recipe, self.pristine, tree, commands_s=commands_s + _SPARE_S
        )

        def opened() -> Room:
            rooms.retire()
            return rooms.open_packed((), b"", False)

        try:
            return await asyncio.to_thread(work, opened)
        finally:
            await rooms.close()


@asynccontextmanager
async def open_ground(provider: SandboxProvider, recipe: Recipe) -> AsyncIterator[Ground]:
    """Open the ground of an image: start it once, and note what is installed.

    Raises:
        SandboxError: The sandbox cannot be started.
    """
    recipe = replace(recipe, network="none", allow=())
    sandbox = await provider.start(recipe)
    try:
        done = await sandbox.exec(["/usr/bin/python3", "-c", _PLUGINS], cwd="/", timeout_s=60)
        plugins = _names(done.stdout) if done.exit_code == 0 else ()
        pristine = await sandbox.seal()
    finally:
        await sandbox.close()
    try:
        yield Ground(provider, recipe, pristine, plugins)
    finally:
        await provider.discard(pristine)


def _names(said: bytes) -> tuple[str, ...]:
    try:
        found = json.loads(said)
    except ValueError:
        return ()
    return tuple(name for name in found if isinstance(name, str) and name not in _UNWANTED)
