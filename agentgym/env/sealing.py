"""Keeps the files of an episode that is over, and decides whose failure it is if that fails.

The agent may have left what cannot be kept or compared: a daemon has refused whole layers for one
file with an odd time. The agent is to blame if the files of a sandbox in which no agent has acted
can be kept, and then once more not its own. A failure that does not come again was the machine's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from agentgym.env.parts import EpisodeParts
from agentgym.errors import (
    SandboxDiedError,
    SandboxError,
    SandboxLimitError,
    SandboxTimeoutError,
)
from agentgym.records import Change, Snapshot

T = TypeVar("T")

_CONTROL = "/tmp/kept"


async def seal(parts: EpisodeParts) -> Snapshot:
    """End the sandbox of an episode and return its files; the caller discards them.

    Raises:
        SandboxLimitError: The files that the agent left cannot be kept.
        SandboxError: The sandbox is gone, or this machine cannot keep any files.
    """
    return await _attempted(parts, parts.seal)


async def compare(parts: EpisodeParts, after: Snapshot) -> Sequence[Change]:
    """Return how the files of an episode differ from those that the setup left.

    Raises:
        SandboxLimitError: They differ in too much, or what the agent left cannot be compared.
        SandboxError: This machine cannot compare any files.
    """
    provider, before = parts.environment.provider, parts.prepared.snapshot
    return await _attempted(parts, lambda: provider.compare(before, after))


async def _attempted(parts: EpisodeParts, attempt: Callable[[], Awaitable[T]]) -> T:
    """Return the result of an attempt, made once more if it fails and an untouched one does not.

    Raises:
        SandboxLimitError: It exceeds a limit, or only what the agent left makes it fail.
        SandboxError: It fails for another reason.
    """
    try:
        return await attempt()
    except (SandboxLimitError, SandboxDiedError, SandboxTimeoutError):
        # After these there is no sandbox to try again, and a limit is the agent's.
        raise
    except SandboxError as error:
        failure = error
    try:
        await _keep_untouched(parts)
    except SandboxError:
        raise failure from None
    try:
        return await attempt()
    except (SandboxDiedError, SandboxTimeoutError):
        raise
    except SandboxError as error:
        raise SandboxLimitError(str(error)) from error


async def _keep_untouched(parts: EpisodeParts) -> None:
    """Keep and compare the files of a sandbox in which no agent has acted.

    Raises:
        SandboxError: They cannot be kept or compared.
    """
    environment, before = parts.environment, parts.prepared.snapshot
    provider = environment.provider
    sandbox = await provider.start(environment.recipe, before)
    try:
        await sandbox.write_file(_CONTROL, b"kept")
        after = await sandbox.seal()
    finally:
        await sandbox.close()
    try:
        await provider.compare(before, after)
    finally:
        await provider.discard(after)
