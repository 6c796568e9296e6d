"""Calls on threads: the event loop goes on meanwhile, and no call outlives who awaits it."""

import asyncio
import multiprocessing
import threading

import pytest

from agentgym.threads import COMPUTING


async def test_the_loop_goes_on_while_a_call_is_made():
    gate = threading.Event()
    call = asyncio.create_task(COMPUTING.finish(lambda: gate.wait(20)))
    await asyncio.sleep(0)
    gate.set()
    assert await call is True


async def test_who_is_cancelled_waits_until_the_call_has_ended():
    begun, gate, done = threading.Event(), threading.Event(), []

    def work():
        begun.set()
        gate.wait(20)
        done.append(True)

    call = asyncio.create_task(COMPUTING.finish(work))
    while not begun.is_set():
        await asyncio.sleep(0.001)
    call.cancel()
    await asyncio.sleep(0.01)
    assert not call.done()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert done == [True]


async def test_what_a_call_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        await COMPUTING.finish(lambda: 1 / 0)


def answer(pipe):
    pipe.send(asyncio.run(COMPUTING.finish(lambda: 42)))


def test_a_forked_process_has_threads_of_its_own():
    assert asyncio.run(COMPUTING.finish(lambda: 41)) == 41
    ours, theirs = multiprocessing.Pipe()
    forked = multiprocessing.get_context("fork").Process(target=answer, args=(theirs,))
    forked.start()
    assert ours.poll(30) and ours.recv() == 42
    forked.join(30)
    assert forked.exitcode == 0
