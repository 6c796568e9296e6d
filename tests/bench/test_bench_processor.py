"""Processor time of a family of processes, and the lateness of an event loop."""

import asyncio
import time

import pytest

from agentgym.bench.pool import Throughput
from agentgym.bench.processor import LoopWatch, family_s, machine_ticks


def write(proc, pid, parent, *ticks, name="sh"):
    folder = proc / str(pid)
    folder.mkdir()
    before = " ".join(["0"] * 9)
    (folder / "stat").write_text(
        f"{pid} ({name}) S {parent} {before} {' '.join(map(str, ticks))} 20 0"
    )


def test_descendants_count_with_their_ended_children_and_strangers_do_not(tmp_path):
    write(tmp_path, 10, 1, 100, 0, 0, 0)
    write(tmp_path, 11, 10, 0, 20, 3, 0, name="a) S 1 b")  # a name may hold anything
    write(tmp_path, 12, 11, 0, 0, 0, 4)
    write(tmp_path, 13, 1, 10_000, 0, 0, 0)
    ticks_a_second = 127 / family_s(tmp_path, own=10)
    assert ticks_a_second == pytest.approx(10_000 / family_s(tmp_path, own=13))


def test_time_of_this_process_counts():
    before = family_s()
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    assert family_s() > before


async def test_a_blocked_loop_is_late():
    watch = LoopWatch()
    await asyncio.sleep(0.03)
    time.sleep(0.2)
    await asyncio.sleep(0.03)
    watch.stop()
    assert watch.share >= 0 and watch.machine_share >= 0
    assert watch.late_ms(0.99) > 100


@pytest.mark.parametrize(
    ("machine", "loop", "cpu_s", "bottleneck"),
    [
        (0.99, 0.95, 10_000.0, "the event loop's thread"),
        (0.99, 0.3, 10_000.0, "the processors"),
        (0.99, 0.3, 0.0, "the processors, shared with other programs"),
        (0.5, 0.3, 0.0, "waiting, most of it in 'seal'"),
    ],
)
def test_the_bottleneck_is_what_is_busy_or_the_longest_wait(machine, loop, cpu_s, bottleneck):
    share = {"steps": 0.4, "seal": 0.6}
    done = Throughput(16, 16, 10, 1.0, cpu_s, 1.0, machine, loop, 1.0, share)
    assert done.bottleneck == bottleneck


def test_idle_and_waiting_ticks_of_the_machine_are_not_busy(tmp_path):
    (tmp_path / "stat").write_text("cpu  10 2 3 50 20 1 4 10 7 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    assert machine_ticks(tmp_path / "stat") == (30, 100)
