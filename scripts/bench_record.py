"""Measures what recording a step costs, and what survives SIGKILL, by SQLite's `synchronous`.

Beside each setting stands the cost of appending the same bytes to a plain file with one
``pwrite(2)``, the least that any journal beside the database would cost.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agentgym.record import codec
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision, Observation, Step, TokenUsage

STEPS = 3000
PLAN = EpisodePlan("bench/steps-v1", 0, 0, "noop")

WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from bench_record import begun, step
store, recorder = begun(Path(sys.argv[1]), sys.argv[2])
index = 0
while True:
    recorder.step(step(index))
    print(index, flush=True)
    index += 1
"""


def step(index: int) -> Step:
    """Return a step of about 2 KB."""
    decision = Decision(
        Action("bash", {"command": "ls -la /srv"}),
        "I look.",
        TokenUsage(100, 10, 0),
        {"role": "assistant", "content": "x" * 500},
    )
    return Step(index, decision, Observation("y" * 1500, None, {"exit_code": 0}), 0.1)


def begun(folder: Path, synchronous: str):
    """Return a new run and the recorder of its episode."""
    store = RunStore.create(folder, {}, [PLAN])
    store._database.execute(f"PRAGMA synchronous = {synchronous}")
    recorder = store.begin(1, params={}, instruction="", sandbox="x", reset_s=0, first=None)
    return store, recorder


def insert_us(folder: Path, synchronous: str, count: int) -> float:
    """Return the microseconds that a step takes."""
    store, recorder = begun(folder, synchronous)
    began = time.perf_counter()
    for index in range(count):
        recorder.step(step(index))
    spent = time.perf_counter() - began
    store.close()
    return spent / count * 1e6


def append_us(path: Path, count: int) -> float:
    """Return the microseconds that encoding a step and one `pwrite` take."""
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    began, size = time.perf_counter(), 0
    for index in range(count):
        one = step(index)
        text = codec.decision_to_text(one.decision) + codec.observation_to_text(one.observation)
        size += os.pwrite(file, text.encode(), size)
    spent = time.perf_counter() - began
    os.close(file)
    return spent / count * 1e6


def lost_to_sigkill(folder: Path, synchronous: str) -> int:
    """Kill a writer and return how many of the steps it had told of are not there."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", WRITER, str(folder), synchronous, here]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        told = [int(child.stdout.readline()) for _ in range(200)]
        child.kill()
        told += [int(line) for line in child.stdout.read().split("\n")[:-1]]
    store = RunStore.open(folder)
    kept = len(store.steps(1))
    store.close()
    return max(0, told[-1] + 1 - kept)


def main() -> None:
    """Print a table, the best of three rounds each."""
    with tempfile.TemporaryDirectory() as name:
        folder, number = Path(name), iter(range(1000))
        print("synchronous   µs a step   steps/s   lost to SIGKILL")
        for synchronous, count in (("OFF", STEPS), ("NORMAL", STEPS), ("FULL", STEPS // 10)):
            cost = min(insert_us(folder / str(next(number)), synchronous, count) for _ in range(3))
            lost = lost_to_sigkill(folder / str(next(number)), synchronous)
            print(f"{synchronous:<11} {cost:>11.0f} {1e6 / cost:>9.0f} {lost:>17}")
        cost = min(append_us(folder / "plain", STEPS) for _ in range(3))
        print(f"{'one pwrite':<11} {cost:>11.0f} {1e6 / cost:>9.0f}                 -")


if __name__ == "__main__":
    main()
