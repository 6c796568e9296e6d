"""A process killed with SIGKILL at any moment loses at most the step in flight."""

from __future__ import annotations

import random
import subprocess
import sys

from agentgym.record.store import EpisodePlan, RunStore

# Prints an index after the recorder has accepted that step; every seventh goes to a blob.
RECORD = """
import sys
from pathlib import Path
from agentgym.record.store import RunStore
from agentgym.records import Action, Decision, Observation, Step, TokenUsage
store = RunStore.open(Path(sys.argv[1]), readonly=False)
index = len(store.steps(1))
recorder = store.begin(1, params={}, instruction="", sandbox="x", reset_s=0, first=Observation(""))
while True:
    text = f"seen {index} " * (5000 if index % 7 == 0 else 1)
    decision = Decision(Action("bash", {"command": f"echo {index}"}), usage=TokenUsage(1, 1))
    recorder.step(Step(index, decision, Observation(text)))
    print(index, flush=True)
    index += 1
"""


def kill_while_recording(folder, moments):
    """Let a child record, kill it after so many acknowledgements, return the last of them."""
    with subprocess.Popen(
        [sys.executable, "-c", RECORD, str(folder)], stdout=subprocess.PIPE, text=True
    ) as child:
        for _ in range(moments):
            last = int(child.stdout.readline())
        child.kill()
        rest = child.stdout.read().split("\n")[:-1]
        child.wait(timeout=30)
    return int(rest[-1]) if rest else last


def test_every_acknowledged_step_survives_sigkill(tmp_path):
    folder = tmp_path / "run"
    RunStore.create(folder, {}, [EpisodePlan("t/a-v1", 0, 0, "noop")]).close()
    moments = random.Random(2).sample(range(1, 400), 6)
    for moment in [1, *moments]:
        acknowledged = kill_while_recording(folder, moment)
        store = RunStore.open(folder)
        steps = store.steps(1)
        assert [step.index for step in steps] == list(range(len(steps)))
        # One more may have been committed in the moment before it could be acknowledged.
        assert len(steps) - 1 in (acknowledged, acknowledged + 1)
        assert all(step.observation.text.startswith(f"seen {step.index} ") for step in steps)
        assert store.episode(1).state == "running"
        store.close()


CREATE = """
import sys
from pathlib import Path
from agentgym.record.store import EpisodePlan, RunStore
plans = [EpisodePlan("t/a-v1", seed, 0, "noop") for seed in range(500)]
print("ready", flush=True)
number = 0
while True:
    RunStore.create(Path(sys.argv[1]) / str(number), {}, plans).close()
    number += 1
"""


def test_a_run_killed_while_it_is_created_is_whole_or_no_run(tmp_path):
    for pause in range(4):
        folder = tmp_path / str(pause)
        with subprocess.Popen(
            [sys.executable, "-c", CREATE, str(folder)], stdout=subprocess.PIPE, text=True
        ) as child:
            child.stdout.readline()
            while not (folder / str(pause)).exists():
                assert child.poll() is None
            child.kill()
            child.wait(timeout=30)
        for run in folder.iterdir():
            if (run / "run.db").exists():
                store = RunStore.open(run, readonly=False)
            else:
                store = RunStore.create(run, {}, [EpisodePlan("t/a-v1", 0, 0, "noop")] * 500)
            assert len(store.episodes()) == 500
            store.close()
