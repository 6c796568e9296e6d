"""Hundreds of episodes in a browser leave nothing behind: `make test-full` plays them."""

from __future__ import annotations

import asyncio
import gc
import os
from pathlib import Path

import pytest

from agentgym.agents.registry import create
from agentgym.browser import pool as pools
from agentgym.browser.engine import engine
from agentgym.browser.pool import browser_pool
from agentgym.env.environment import Environment
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import find_task

TASKS = ("miniwob/click-checkboxes-v1", "web/gift-in-time-v1", "miniwob/login-user-v1")
AT_ONCE = 4
WARM, PLAYED = 40, 400


def host_memory_mb():
    """Return the memory of this process without what it shares, in MiB."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def traces():
    """Return what episodes could leave behind on this host, by name."""
    gc.collect()
    chromiums = {*browser_pool()._current.values(), *browser_pool()._retired}
    kept = sum(len(list(each.confinement.transfers.iterdir())) for each in chromiums)
    spares = sum(map(len, browser_pool()._ready.values()))
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "browsers": len(chromiums),
        "contexts": sum(each.live for each in chromiums) - spares,
        "deposited files": kept,
        "tasks of the engine": len(asyncio.all_tasks(engine()._loop)),
    }


async def idle():
    async with asyncio.timeout(60):
        while browser_pool().busy:
            await asyncio.sleep(0.05)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(3_600)
async def test_hundreds_of_episodes_leave_nothing_behind(monkeypatch, record_property):
    pytest.importorskip("miniwob", reason="the extra miniwob is not installed")
    monkeypatch.setattr(pools, "SERVED", 120)  # several browsers are used up on the way
    began = browser_pool().started
    environments = [Environment(find_task(task), NoSandboxProvider()) for task in TASKS]
    free = asyncio.Semaphore(AT_ONCE)

    async def play(number):
        async with free:
            environment = environments[number % len(environments)]
            result = await run_episode(
                environment, create("oracle"), seed=number, store=None, episode_id=None
            )
            assert result.verdict.score == 1.0, (environment.task.id, number, result)

    async def play_all(numbers):
        async with asyncio.TaskGroup() as group:
            for number in numbers:
                group.create_task(play(number))
        await idle()

    try:
        await play_all(range(WARM))
        before, memory = traces(), host_memory_mb()
        await play_all(range(WARM, WARM + PLAYED))
        after = traces()
        grown = host_memory_mb() - memory
        browser_mb = await asyncio.to_thread(browser_pool().memory_mb)
    finally:
        for environment in environments:
            await environment.close()
    told = f"{PLAYED} episodes: {before} before, {after} after, host +{grown:.0f} MiB, "
    told += f"browser {browser_mb:.0f} MiB, browsers started {browser_pool().started - began}"
    print(told)
    record_property("figures", told)
    assert after["contexts"] == before["contexts"] == 0, told
    assert after["browsers"] == 1 and after["deposited files"] == 0, told
    assert after["descriptors"] <= before["descriptors"] + 8, told
    assert after["tasks of the engine"] <= before["tasks of the engine"] + 8, told
    # A leak of one page's tree for each episode would be 40 MiB and more.
    assert grown < 40 and browser_mb < 1_500, told
    assert browser_pool().started - began >= PLAYED // 120, told
