"""Classifies an exception of a surface call: the agent's observation, and who is responsible.

The agent has acted, so an exception that its call causes is its own doing: an observation, or the
end of an episode that is judged. An episode stays unscored only for failures without the agent: a
sandbox that died without a cause in the guest, a machine out of space, a task's own script.
"""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from typing import Final

from agentgym.errors import (
    ActionError,
    AgentGymError,
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    SandboxTimeoutError,
    ServiceError,
)
from agentgym.records import Action, Effect, Observation

_MACHINE: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO))
"""Errors that mean that this machine has run out of a resource."""

_MAX_MESSAGE: Final = 2_000


async def survived(
    execute: Callable[[Action], Awaitable[Observation]], action: Action
) -> Observation:
    """Execute a legal call; an exception that it causes in the surface is an observation.

    Args:
        execute: Executes the call on the surface.
        action: The call.

    Raises:
        SandboxEndedError: The sandbox does not answer any more: the episode ends and is judged.
        SurfaceEndedError: The target of the surface ended under the agent: likewise.
        AgentGymError: A failure that the agent did not cause.
    """
    try:
        return await execute(action)
    except SandboxTimeoutError as error:
        raise SandboxEndedError(f"the sandbox stopped answering: {error}") from error
    except SandboxDiedError:
        raise
    except (ActionError, SandboxError, ServiceError) as error:
        return _failure(str(error))
    except AgentGymError:
        raise
    except OSError as error:
        if error.errno in _MACHINE:
            raise SandboxError(f"this machine failed at {action.tool}: {error}") from error
        return _failure(f"{action.tool} failed: {type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - the boundary that classifies it
        return _failure(f"{action.tool} failed: {type(error).__name__}: {error}")


def _failure(message: str) -> Observation:
    cut = "…" if len(message) > _MAX_MESSAGE else ""
    text = f"error: {message[:_MAX_MESSAGE]}{cut}".replace("\0", "\u2400")
    return Observation(text.encode("utf-8", "replace").decode(), effect=Effect.ERROR)
