"""The steps of many episodes that are recorded together."""

import asyncio

import pytest
from counter_sessions import ADD, config_of, store

from agentgym.errors import PolicyError, RecordError
from agentgym.record import recorder as recorder_module
from agentgym.session.answers import FailureCode
from agentgym.session.server import SessionServer

__all__ = ["store"]

LATER_S = 0.05


async def begun(store, count):
    """Begin a session with some episodes, whose steps are recorded after a moment."""
    terms = {"max_steps": 1_000, "seed": None, "record_after_s": LATER_S}
    session = SessionServer(config_of(store, **terms)).open("test")
    return session, [(await session.reset(seed=seed)).episode for seed in range(count)]


async def until(condition):
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


async def test_steps_of_all_episodes_are_on_file_after_one_transaction(store, monkeypatch):
    written, write = [], recorder_module.write_steps

    def noted(database, batch):
        written.append([len(packed.rows) for packed in batch])
        write(database, batch)

    monkeypatch.setattr("agentgym.record.store.write_steps", noted)
    session, ids = await begun(store, 3)
    for _ in range(20):
        for id in ids:
            await session.step(id, ADD)
    await until(lambda: sum(map(sum, written)) == 60)
    assert all(len(store.steps(number)) == 20 for number in (1, 2, 3))
    assert len(written) < 20
    for id in ids:
        await session.step(id, ADD)
    await session.end(PolicyError("the client left"))
    assert [len(store.steps(number)) for number in (1, 2, 3)] == [21, 21, 21]
    assert all(row.state == "done" for row in store.episodes())


async def test_an_episode_that_cannot_be_recorded_ends_alone(store, monkeypatch):
    pack = recorder_module.Recorder.pack

    def full(recorder, steps):
        if recorder._episode_id == 2 and steps[-1].index >= 1:
            raise RecordError("no space left")
        return pack(recorder, steps)

    session, ids = await begun(store, 3)
    monkeypatch.setattr(recorder_module.Recorder, "pack", full)
    for _ in range(3):
        for id in ids:
            await session.step(id, ADD)
    await until(lambda: session._episodes[ids[1]]._write_error is not None)
    first, second, third = [await session.step(id, ADD) for id in ids]
    assert second.code is FailureCode.UNSCORED and "no space left" in second.message
    assert not first.over and not third.over
    await session.end(PolicyError("the client left"))
    assert [len(store.steps(number)) for number in (1, 3)] == [4, 4]


@pytest.mark.parametrize("count", [1, 7, 8, 33, 75])
async def test_any_number_of_steps_is_read_as_it_was_taken(store, count):
    session, (id,) = await begun(store, 1)
    for _ in range(count):
        await session.step(id, ADD)
    await session.end(PolicyError("the client left"))
    steps = store.steps(1)
    assert [step.index for step in steps] == list(range(count))
    assert f"it is {2 * count}" in steps[-1].observation.text
