"""A provider whose calls never end costs an error each, and leaves nothing once they do."""

import asyncio

import pytest
from counted_provider import CountedProvider, settled

from agentgym.errors import SandboxTimeoutError
from agentgym.records import Recipe, Service, Snapshot
from agentgym.sandbox.pool import PooledProvider
from agentgym.sandbox.watchdog import Deadlines, WatchedProvider

HOST = Recipe("host")
SOON = Deadlines(place_s=0.2, start_s=0.05, state_s=0.05, close_s=0.05)


class Stubborn(CountedProvider):
    """Takes no notice of being cancelled, as a thread does; `release` lets it go on."""

    def __init__(self):
        super().__init__()
        self.release = asyncio.Event()

    async def hang(self, what):
        while what in self.hanging and not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                continue


async def test_a_start_that_hangs_is_given_up_and_ended_when_it_comes_after_all():
    provider = Stubborn()
    watched = WatchedProvider(provider, SOON)
    provider.hanging.add("start")
    with pytest.raises(SandboxTimeoutError, match=r"counted did not start a sandbox within 0.05 s"):
        await watched.start(HOST)
    assert (watched.given_up, provider.started) == (1, [])
    provider.release.set()
    await settled()
    assert len(provider.started) == 1 and provider.open() == []


async def test_services_have_their_own_time_on_top():
    provider = Stubborn()
    watched = WatchedProvider(provider, SOON)
    provider.hanging.add("start")
    served = Recipe("host", services=(Service("db", "db", timeout_s=0.4),))
    with pytest.raises(SandboxTimeoutError, match=r"within 0.45 s"):
        await watched.start(served)
    provider.release.set()
    await settled()


async def test_an_image_has_its_own_time_before_the_start():
    class Placing(Stubborn):
        async def place(self, recipe):
            await asyncio.sleep(self.needs_s)

    provider = Placing()
    watched = WatchedProvider(provider, SOON)
    provider.needs_s = 0.1  # longer than a start may take
    await (await watched.start(HOST)).close()
    provider.needs_s = 5
    with pytest.raises(SandboxTimeoutError, match=r"did not place an image within 0.2 s"):
        await watched.start(HOST)
    assert len(provider.started) == 1


async def test_a_seal_that_hangs_ends_its_sandbox_and_drops_a_late_snapshot():
    provider = Stubborn()
    watched = WatchedProvider(provider, SOON)
    box = await watched.start(HOST)
    provider.hanging.add("seal")
    with pytest.raises(SandboxTimeoutError, match="did not seal"):
        await box.seal()
    await settled()
    assert provider.open() == []
    provider.release.set()


async def test_a_late_snapshot_of_a_seal_is_dropped():
    provider = Stubborn()
    watched = WatchedProvider(provider, SOON)
    box = await watched.start(HOST)
    provider.hanging.update(("seal", "close"))
    with pytest.raises(SandboxTimeoutError):
        await box.seal()
    provider.release.set()
    await settled()
    assert [snapshot for snapshot, _ in provider.discarded] == [Snapshot("counted", (box.id,))]


async def test_an_end_that_hangs_is_no_error_and_holds_nobody_up():
    provider = Stubborn()
    watched = WatchedProvider(provider, SOON)
    box = await watched.start(HOST)
    provider.hanging.update(("close", "provider.close"))
    await box.close()
    await watched.close()
    assert watched.given_up == 2
    provider.release.set()
    await settled()
    assert box.closed


async def test_who_is_cancelled_waits_until_what_it_began_is_undone():
    provider = CountedProvider()
    watched = WatchedProvider(provider, Deadlines())
    provider.hanging.add("start")
    asking = asyncio.create_task(watched.start(HOST))
    await settled()
    assert provider.starting == 1
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert provider.starting == 0


async def test_a_pool_gives_up_a_hanging_start_and_starts_again_later():
    provider = CountedProvider()
    pool = PooledProvider(
        provider, size=2, memory_mb=100, deadlines=SOON, calm_s=0.0, clock=provider.clock
    )
    provider.hanging.add("start")
    pool.expect(HOST, None)
    async with asyncio.timeout(10):
        while not pool.statistics().faults:
            await asyncio.sleep(0)
    assert pool.statistics().given_up == 1
    assert "did not start a sandbox" in pool.statistics().last_fault
    provider.hanging.clear()
    assert (await pool.start(HOST)).alive
    await pool.close()


async def test_a_pool_closes_although_its_sandboxes_do_not():
    provider = Stubborn()
    pool = PooledProvider(
        provider, size=2, memory_mb=100, deadlines=SOON, calm_s=0.0, clock=provider.clock
    )
    pool.expect(HOST, None, 2)
    await settled()
    assert pool.statistics().ready == 2
    provider.hanging.add("close")
    async with asyncio.timeout(10):
        await pool.close()
    provider.release.set()
    await settled()
    assert provider.open() == []
