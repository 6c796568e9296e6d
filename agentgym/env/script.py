"""The script of an event: copied into a guest, run there as root, and removed again.

This module decides who is responsible for a failing script. A guest can make it fail: it can
remove the programs that the script runs, or use up disk and processes. If that were always the
task's error, an agent could have a bad ending removed from the record. So the scripts so far run
once more in a sandbox in the state that the setup left. If they work there, the agent is
responsible. If one of them waited for a milestone, this test proves nothing, and the agent is
responsible as well; `task check` finds a script that fails under the solution.
"""

from __future__ import annotations

import contextlib

from agentgym.errors import GuestFileError, SandboxLimitError
from agentgym.manifest import show_path
from agentgym.protocols import Sandbox
from agentgym.records import ExecResult
from agentgym.task.dynamics import EventManifest
from agentgym.task.model import Instance
from agentgym.task.setup import last_lines, tail
from agentgym.task.template import environment

FOLDER = "/run/agentgym/events"


async def run_script(
    sandbox: Sandbox, instance: Instance, event: EventManifest, script: str, now: str
) -> str:
    """Run an event's script; the task's events are in the guest only while it runs.

    Args:
        sandbox: The guest.
        instance: The task with its parameters.
        event: The event.
        script: Text of its `run`.
        now: Logical time.

    Returns:
        The error of the script, empty if it succeeded.

    Raises:
        SandboxError: The sandbox died.
    """
    folder = instance.task.folder
    variables = {
        **environment(instance.params),
        "AGENTGYM_EVENTS": FOLDER,
        "AGENTGYM_NOW": now,
    }
    try:
        # Files of the guest at this place are neither followed nor kept. If they cannot be removed,
        # nothing is copied in, because it would stay visible to the agent.
        removed = await _remove(sandbox)
        if removed.exit_code:
            return f"could not be run: {FOLDER} cannot be emptied: {tail(removed)}"
        await sandbox.upload(folder / "events", FOLDER)
        await sandbox.run_as_root(["chmod", "700", FOLDER])
        done = await sandbox.run_as_root(
            ["/bin/bash", f"{FOLDER}/{script.removeprefix('events/')}"],
            env=variables,
            timeout_s=event.timeout_s,
        )
    except (GuestFileError, SandboxLimitError) as error:
        return f"could not be run: {error}"
    finally:
        with contextlib.suppress(SandboxLimitError):
            await _remove(sandbox)
    return _failure(event, done)


async def _remove(sandbox: Sandbox) -> ExecResult:
    return await sandbox.run_as_root(["rm", "-rf", FOLDER])


def _failure(event: EventManifest, done: ExecResult) -> str:
    if not done.timed_out and not done.exit_code:
        return ""
    what = f"ended with exit code {done.exit_code}"
    if done.timed_out:
        what = f"did not end within {event.timeout_s:g} s (timeout_s of the event)"
    return f"{what}{last_lines(done)}"


def complaint(instance: Instance, event: EventManifest, script: str, failure: str) -> str:
    """Return the error message for a script that also fails in the untouched sandbox."""
    path = show_path(instance.task.folder / script)
    return f"{path} of event {event.id!r}, run in the world as the setup left it, {failure}"
