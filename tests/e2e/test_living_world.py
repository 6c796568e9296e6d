"""An episode in a living world, killed and resumed, ends as one that nobody interrupted."""

import json
import os
import signal
import subprocess

import pytest
from agentgym_command import PROGRAM
from living_tasks import FLAKY, RELAY, RELAY_TOML, write_living
from process_table import descendants, survivors
from remains import assert_clean, ended_within, wait_until

from agentgym.record.store import RunStore

COMMANDS = [
    "cp /srv/in /srv/out",
    "cp /srv/in /srv/out; seq 50",
    "seq 50; sleep 0.3",
    "cat /srv/log; sleep 0.3",
    "cp /srv/in /srv/out; sleep 0.3",
]
FAULTS = """
[[fault]]
id = "drawn"
tool = "bash"
rate = 0.6
at_most = 2
kind = "garbled"
"""


@pytest.fixture
def start(tmp_path, catalogue):
    """Start `agentgym eval` into a run folder."""
    files = {**RELAY, "task.toml": RELAY_TOML + FAULTS}
    write_living(catalogue, "relay", files)
    write_living(catalogue, "flaky", FLAKY)
    lines = [{"tool": "bash", "arguments": {"command": command}} for command in COMMANDS]
    (tmp_path / "play.jsonl").write_text("\n".join(map(json.dumps, lines)))
    processes = []

    def start(run, *more):
        process = subprocess.Popen(
            [
                *(PROGRAM, "eval", "demo", "--agent", "scripted:play.jsonl", "--jobs", "2"),
                *("--out", run, *more),
            ],
            cwd=tmp_path,
            env={**os.environ, "AGENTGYM_CACHE": str(tmp_path / "cache")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()
    assert_clean(tmp_path / "cache", [process.pid for process in processes])


def read(folder):
    """Return the events and texts of each episode by step, and its verdict."""
    if not (folder / "run.db").exists():
        return {}
    store = RunStore.open(folder)
    try:
        return {
            row.plan.task: (
                [(step.observation.text, step.events) for step in store.steps(row.id)],
                row.verdict,
                row.log,
            )
            for row in store.episodes()
        }
    finally:
        store.close()


@pytest.mark.full
def test_killed_and_resumed_it_ends_as_if_nothing_had_been(start, tmp_path):
    process = start("whole")
    _, words = process.communicate(timeout=100)
    assert process.returncode == 0, words
    whole = read(tmp_path / "whole")
    steps, verdict, _ = whole["demo/relay-v1"]
    fired = [event.id for _, happened in steps for event in happened]
    assert {"dawn", "handed", "flaky", "bell", "drawn"} <= set(fired)
    assert verdict.scored and verdict.outcome

    process = start("cut")
    for kill in (2, 7):
        while sum(len(steps) for steps, *_ in read(tmp_path / "cut").values()) < kill:
            assert not ended_within(process, 0.02), "it was over before it was killed"
        family = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        assert wait_until(lambda family=family: not survivors(family))
        assert any(verdict is None for _, verdict, _ in read(tmp_path / "cut").values())
        process = start("cut", "--resume")
    _, words = process.communicate(timeout=100)
    assert process.returncode == 0, words
    # The log of a resumed episode would name a divergence, the events among them.
    assert read(tmp_path / "cut") == whole

    results = json.loads((tmp_path / "cut" / "results.json").read_text())
    summary = results["summary"]["scripted:play.jsonl"]
    assert summary["faulted"] == 2
    assert summary["robustness"] == summary["mean_score"]
