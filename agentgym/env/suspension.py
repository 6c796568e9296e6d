"""Suspends the computer of an episode: its files are kept as a snapshot, and nothing of it runs.

What is on the host stays as it is: services, user, clock, events, milestones. Processes are not
kept, as in a fork: background processes of the agent are absent afterwards, and a shell keeps only
its working directory and exported variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from agentgym.env.parts import EpisodeParts
from agentgym.errors import (
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    SurfaceEndedError,
    SurfaceError,
    SurfaceLostError,
)
from agentgym.records import Audit, Json, Snapshot, StepEvent, StepEventKind
from agentgym.sandbox.absent import NoSandboxProvider

RESTORED = StepEvent(
    StepEventKind.RESTORED, "computer", "from a snapshot, without background processes"
)
"""The event of the first step after a computer was suspended."""


@dataclass(frozen=True, slots=True)
class SuspendedComputer:
    """A computer that is suspended.

    Attributes:
        snapshot: Its files; the caller discards it.
        saved: The state of each surface.
        audit: The audit until then.
    """

    snapshot: Snapshot
    saved: Sequence[Mapping[str, Json]]
    audit: Audit


async def suspend(parts: EpisodeParts) -> SuspendedComputer | None:
    """End the computer of an episode and return what brings it back.

    Returns:
        What `resume` needs. None if the environment has no computer. None also if the computer
        runs on: a surface cannot be saved, the sandbox does not answer, or the task has another
        format, whose tests may need the processes.
    """
    if parts.rules is not None or isinstance(parts.environment.provider, NoSandboxProvider):
        return None
    try:
        saved = [await surface.save() for surface in parts.surfaces]
        snapshot = await parts.sandbox.snapshot()
    except (SurfaceError, SandboxError):
        return None
    async with AsyncExitStack() as made:
        made.push_async_callback(parts.environment.provider.discard, snapshot)
        try:
            audit = await parts.audit()
        except SandboxError:
            return None
        await parts.detach()
        made.pop_all()
    return SuspendedComputer(snapshot, saved, audit)


async def resume(parts: EpisodeParts, suspended: SuspendedComputer) -> None:
    """Start a computer from the files of the suspended one, with surfaces in their saved state.

    Raises:
        SandboxError: No sandbox could be started, or it died without a cause in the guest.
        SurfaceLostError: A process that episodes share ended.
        SurfaceEndedError: A surface does not come back in what the agent has left.
    """
    provider = parts.environment.provider
    parts.sandbox = await provider.start(parts.environment.recipe, suspended.snapshot)
    parts.follow(suspended.audit)
    parts.dynamics.note(RESTORED)
    try:
        await parts.attach_saved(suspended.saved)
    except SurfaceLostError:
        raise
    except (SurfaceError, SandboxError) as error:
        if isinstance(error, SandboxDiedError) and not isinstance(error, SandboxEndedError):
            raise
        raise SurfaceEndedError(f"the computer was restored, but not its tools: {error}") from error
