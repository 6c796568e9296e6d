"""Calls of services beside the event loop."""

import asyncio
import threading
from types import SimpleNamespace

from agentgym.surfaces.aside import aside

COMPUTING, WAITING = SimpleNamespace(waits=False), SimpleNamespace(waits=True)


async def test_services_that_wait_hold_up_no_services_that_compute():
    gate = threading.Event()
    waiting = [asyncio.create_task(aside(WAITING, lambda: gate.wait(60))) for _ in range(12)]
    await asyncio.sleep(0)
    assert await asyncio.wait_for(aside(COMPUTING, lambda: 7), 30) == 7
    gate.set()
    assert all(await asyncio.gather(*waiting))
