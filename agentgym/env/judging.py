"""Judges an episode, at its end or as it stands: its files are kept, compared and graded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from agentgym.env import sealing
from agentgym.env.ending import EndedEpisode, OnEnd
from agentgym.env.execution import Execution
from agentgym.errors import SandboxLimitError
from agentgym.records import Audit, Snapshot, Step, Verdict
from agentgym.task.model import Instance
from agentgym.threads import to_thread
from agentgym.verify.grade import EpisodeEnd, failed
from agentgym.verify.grading_start import GradingStart


async def judge(
    execution: Execution,
    instance: Instance,
    steps: Sequence[Step],
    audit: Audit,
    keep: Callable[[], Awaitable[Snapshot]],
    *,
    on_end: OnEnd | None = None,
    grading: GradingStart | None = None,
) -> Verdict:
    """Judge the files of an episode together with the other evidence, and discard them.

    Files that cannot be kept or compared are a fail.

    Args:
        execution: The actions of the episode, with its parts.
        instance: The task with the parameters of the episode.
        steps: Its steps.
        audit: Audit of the sandbox.
        keep: Returns the files.
        on_end: Called after the verdict, while the files still exist.
        grading: Its grading, if it was started ahead.

    Raises:
        SandboxError: The files cannot be kept, compared or read, for no reason in the guest.
    """
    parts, dynamics = execution.parts, execution.parts.dynamics
    try:
        after = await keep()
    except SandboxLimitError as error:
        return await _not_judged(instance, error)
    try:
        try:
            changes = await sealing.compare(parts, after)
        except SandboxLimitError as error:
            return await _not_judged(instance, error)
        end = EpisodeEnd(
            after=after,
            changes=changes,
            audit=audit,
            steps=tuple(steps),
            answer=execution.answer,
            gave_up=execution.gave_up,
            services=dynamics.services_seen(),
        )
        ended = EndedEpisode(
            parts.environment, instance, parts.prepared, end, dynamics.latched, grading
        )
        verdict = await ended.judge()
        if on_end is not None:
            await on_end(ended, verdict)
        return verdict
    finally:
        await parts.environment.provider.discard(after)


async def _not_judged(instance: Instance, error: SandboxLimitError) -> Verdict:
    """Return the verdict of an episode that left more than can be kept or compared."""
    why = f"what the episode left cannot be judged: {error}"
    return await to_thread(failed, instance, why)
