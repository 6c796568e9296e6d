"""Suspends the computer of an episode: its files are kept as a snapshot, and nothing of it runs.

What is on the host stays as it is: services, user, clock, events, milestones. Processes are not
kept, as in a fork: background processes of the agent are absent afterwards, and a shell keeps only
its working directory and exported variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym.env.parts import EpisodeParts
from agentgym.errors import (
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    SurfaceEndedError,
    SurfaceError,
    SurfaceLostError,
)
from agentgym.protocols import Sandbox
from agentgym.records import Json, StepEvent, StepEventKind
from agentgym.sandbox.absent import NoSandboxProvider

RESTORED = StepEvent(
    StepEventKind.RESTORED, "computer", "from a snapshot, without background processes"
)
"""The event of the first step after a computer was suspended."""


async def suspend(parts: EpisodeParts) -> Sequence[Mapping[str, Json]] | None:
    """End the computer of an episode, keep its files, and return the states of its surfaces.

    Returns:
        What `resume` needs. None if the environment has no computer. None also if the computer
        runs on: a surface cannot be saved, the sandbox does not answer, or the task has another
        format, whose tests may need the processes.
    """
    provider = parts.environment.provider
    if parts.rules is not None or isinstance(provider, NoSandboxProvider):
        return None
    try:
        saved = [await surface.save() for surface in parts.surfaces]
        snapshot = await parts.sandbox.snapshot()
    except (SurfaceError, SandboxError):
        return None
    try:
        audit = await parts.audit()
    except BaseException as error:
        await provider.discard(snapshot)
        if not isinstance(error, SandboxError):
            raise
        return None
    parts.keep(snapshot, audit)
    await parts.end_computer()
    return saved


async def resume(parts: EpisodeParts, saved: Sequence[Mapping[str, Json]]) -> None:
    """Start a computer from the kept files, with surfaces in their saved state.

    Raises:
        SandboxError: No sandbox could be started, or it died without a cause in the guest.
        SurfaceLostError: A process that episodes share ended.
        SurfaceEndedError: No sandbox or surface comes back in what the agent has left; the
            episode can be judged.
    """
    parts.sandbox = await _started(parts)
    await parts.drop_kept()
    parts.dynamics.note(RESTORED)
    try:
        await parts.attach_saved(saved)
    except SurfaceLostError:
        raise
    except (SurfaceError, SandboxError) as error:
        if isinstance(error, SandboxDiedError) and not isinstance(error, SandboxEndedError):
            raise
        raise SurfaceEndedError(f"the computer was restored, but not its tools: {error}") from error


async def _started(parts: EpisodeParts) -> Sandbox:
    """Start a sandbox from the kept files.

    The agent may have left what no sandbox starts from, such as a broken program of a service. It
    is to blame if a sandbox starts from the files before it, and once more none from its own.
    """
    provider, recipe = parts.environment.provider, parts.environment.recipe
    try:
        return await provider.start(recipe, parts.kept)
    except SandboxError:
        untouched = await provider.start(recipe, parts.prepared.snapshot)
        await untouched.close()
    try:
        return await provider.start(recipe, parts.kept)
    except SandboxError as error:
        raise SurfaceEndedError(
            f"no computer starts from the files that the agent has left: {error}"
        ) from error
