"""Waits until the healthcheck of a sandbox passes, as Docker's HEALTHCHECK defines it."""

from __future__ import annotations

import asyncio
import time

from agentgym.errors import SandboxError
from agentgym.formats.sandboxed.rules import HEALTHY_S, Healthcheck
from agentgym.protocols import Sandbox


async def wait_for_health(sandbox: Sandbox, check: Healthcheck | None) -> None:
    """Wait until a healthcheck passes.

    Raises:
        SandboxError: The healthcheck used up its retries, or took too long.
    """
    if check is None:
        return
    try:
        async with asyncio.timeout(HEALTHY_S):
            await _wait(sandbox, check)
    except TimeoutError as error:
        told = f"the healthcheck {check.command!r} did not pass within {HEALTHY_S:g} s"
        raise SandboxError(told) from error


async def _wait(sandbox: Sandbox, check: Healthcheck) -> None:
    began, failures = time.monotonic(), 0
    while True:
        done = await sandbox.exec(["/bin/sh", "-c", check.command], timeout_s=check.timeout_s)
        if done.exit_code == 0 and not done.timed_out:
            return
        starting = time.monotonic() - began < check.start_period_s
        failures += not starting
        if failures >= check.retries:
            said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-200:]
            raise SandboxError(
                f"the healthcheck {check.command!r} failed {failures} times; it last said: {said}"
            )
        await asyncio.sleep(check.start_interval_s if starting else check.interval_s)
