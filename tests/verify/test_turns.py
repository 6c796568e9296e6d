"""A few gradings at a time: the others wait for their turn, and no turn is lost."""

import asyncio

import pytest

from agentgym.verify.turns import Turns


async def grade(turns, running, most, *, early=False):
    async with turns.turn() as end:
        running.append(None)
        most.append(len(running))
        await asyncio.sleep(0)
        running.pop()
        if early:
            end()
            end()
            await asyncio.sleep(0.001)


@pytest.mark.parametrize("early", [False, True])
async def test_no_more_than_the_limit_run_and_all_come_to_their_turn(early):
    turns, most = Turns(2), []
    running = []
    await asyncio.gather(*(grade(turns, running, most, early=early) for _ in range(9)))
    assert len(most) == 9 and max(most) == 2


async def test_an_ended_turn_lets_the_next_one_begin():
    turns = Turns(1)
    async with turns.turn() as end:
        waiting = asyncio.create_task(grade(turns, [], []))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        end()
        await asyncio.wait_for(waiting, 30)
    await asyncio.wait_for(grade(turns, [], []), 30)


async def test_neither_a_failure_nor_a_cancelled_wait_costs_a_turn():
    turns = Turns(1)
    with pytest.raises(ZeroDivisionError):
        async with turns.turn():
            waiting = asyncio.create_task(grade(turns, [], []))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait({waiting})
            raise ZeroDivisionError
    await asyncio.wait_for(grade(turns, [], []), 30)


def test_each_event_loop_has_turns_of_its_own():
    turns = Turns(1)
    for _ in range(2):
        asyncio.run(grade(turns, [], []))
