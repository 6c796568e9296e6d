"""The synchronous way into the event loop: results, errors, timeouts, forks, the end."""

import asyncio
import doctest
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import pytest

import agentgym.env.portal
from agentgym.env.portal import Portal, portal


@pytest.fixture
def own():
    opened = Portal()
    yield opened
    opened.close()


async def value(x):
    await asyncio.sleep(0)
    return x


async def fail():
    raise KeyError("inside")


def test_the_example_in_the_documentation():
    assert doctest.testmod(agentgym.env.portal) == (0, 1)


def test_it_returns_results_and_raises_errors(own):
    assert own.run(value(5)) == 5
    with pytest.raises(KeyError, match="inside"):
        own.run(fail())
    assert own.run(value(6)) == 6


def test_every_call_shares_one_loop_in_another_thread(own):
    async def where():
        return threading.get_ident(), id(asyncio.get_running_loop())

    first, second = own.run(where()), own.run(where())
    assert first == second
    assert first[0] != threading.get_ident()


def test_what_is_started_runs_without_being_waited_for(own):
    done = threading.Event()

    async def work():
        done.set()

    own.start(work)
    assert not done.is_set(), "there is no loop yet, so there is nothing to do"
    own.run(value(1))
    own.start(work)
    assert done.wait(30)
    own.close()
    own.start(work)


async def test_it_works_while_a_loop_is_running_here(own):
    assert own.run(value("inside pytest-asyncio")) == "inside pytest-asyncio"


def test_it_serves_many_threads(own):
    got = []
    threads = [
        threading.Thread(target=lambda n=n: got.append((n, own.run(value(n))))) for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(got) == [(n, n) for n in range(20)]


def test_a_timeout_cancels(own):
    ended = []

    async def forever():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    with pytest.raises(TimeoutError):
        own.run(forever(), timeout_s=0.05)
    assert ended == ["cleaned up"]


def test_ctrl_c_cancels_and_waits_for_the_clean_up(own):
    ended = []

    async def forever():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            ended.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        own.run(forever())
    assert ended == ["cleaned up"]
    assert own.run(value(1)) == 1


def test_it_refuses_to_wait_for_itself(own):
    async def inside():
        return own.run(value(1))

    with pytest.raises(RuntimeError, match="own event loop"):
        own.run(inside())


def test_closing_is_last_in_first_out_and_reaches_everything():
    opened, closed = Portal(), []

    async def close(name):
        closed.append(name)

    opened.at_close(lambda: close("first"))
    opened.at_close(lambda: close("second"))
    opened.run(value(1))
    assert not opened.closed
    opened.close()
    opened.close()
    assert closed == ["second", "first"]
    assert opened.closed
    with pytest.raises(RuntimeError, match="ending"):
        opened.run(value(1))


def test_a_portal_that_was_never_used_starts_nothing():
    before = threading.active_count()
    unused = Portal()
    unused.close()
    assert threading.active_count() == before


def _child(results):
    fresh = portal()
    results.put((os.getpid(), fresh.run(value(os.getpid()))))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_process_gets_its_own(method):
    portal().run(value(1))
    context = multiprocessing.get_context(method)
    results = context.SimpleQueue()
    child = context.Process(target=_child, args=[results])
    child.start()
    pid, answer = results.get()
    child.join(30)
    assert (child.exitcode, answer) == (0, pid)
    assert pid != os.getpid()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_may_not_use_its_parent_s(own):
    own.run(value(1))
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            own.run(value(1))
        except RuntimeError as error:
            code = 0 if own.closed and "in its fork" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


AT_EXIT = """
import asyncio, multiprocessing, sys
from agentgym.env.portal import portal

async def close(name):
    await asyncio.to_thread(print, "closed", name, flush=True)

async def nothing():
    pass

def use(name):
    portal().at_close(lambda: close(name))
    portal().run(nothing())

if __name__ == "__main__":
    use("parent")
    child = multiprocessing.get_context(sys.argv[1]).Process(target=use, args=["child"])
    child.start()
    child.join()
    raise SystemExit(child.exitcode)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_everything_is_closed_when_a_process_ends(tmp_path, method):
    script = tmp_path / "script.py"
    script.write_text(AT_EXIT)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, method], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed child\nclosed parent\n", "")
