"""Episodes whose sandbox takes too long to be copied, or to tell what happened in it."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager

import pytest

from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.errors import SandboxTimeoutError
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.guest import BubblewrapSandbox
from agentgym.sandbox.store import LayerStore
from agentgym.sandbox.watchdog import WatchedProvider

WRITE = {"tool": "bash", "arguments": {"command": "echo written > /tmp/x"}}
READ = {"tool": "bash", "arguments": {"command": "cat /tmp/x"}}
SUBMIT = {"tool": "submit", "arguments": {}}
STATE_S = 0.5


@asynccontextmanager
async def written():
    provider = BubblewrapProvider()
    environment = Environment(load_built("terminal/log-forensics-v1"), WatchedProvider(provider))
    try:
        episode = await environment.start(0)
        await episode.step(WRITE)
        yield episode
    finally:
        await environment.close()
        await provider.close()


@pytest.mark.parametrize("call", ["fork", "suspended"])
async def test_a_copy_that_takes_too_long_does_not_end_the_episode(monkeypatch, call):
    copy, within = LayerStore.copy, WatchedProvider.within

    def late(store, layers):
        time.sleep(4 * STATE_S)
        return copy(store, layers)

    async def soon(watched, seconds, what, *work):
        short = what in ("fork", "take a snapshot")
        return await within(watched, STATE_S if short else seconds, what, *work)

    async with written() as episode:
        monkeypatch.setattr(LayerStore, "copy", late)
        monkeypatch.setattr(WatchedProvider, "within", soon)
        if call == "fork":
            with pytest.raises(SandboxTimeoutError):
                await episode.fork()
        else:
            async with episode.suspended():
                pass
        assert "written" in (await episode.step(READ)).observation.text
        assert (await episode.step(SUBMIT)).verdict.scored


async def test_an_audit_that_takes_too_long_does_not_end_the_verdict(monkeypatch):
    async def late(sandbox):
        raise SandboxTimeoutError("the sandbox does not answer")

    async with written() as episode:
        monkeypatch.setattr(BubblewrapSandbox, "audit", late)
        assert (await episode.step(SUBMIT)).verdict.scored
