"""A run killed at any moment goes on, loses nothing it had recorded, and leaves nothing behind."""

import json
import os
import random
import re
import shlex
import signal
import subprocess

import pytest
from agentgym_command import PROGRAM
from injury import query
from process_table import descendants, running, survivors
from remains import (
    assert_clean,
    ended_within,
    wait_until,
)
from small_task import write_task

from agentgym.record import codec
from agentgym.record.store import RunStore

NUMBERS = range(1, 16)
COUNT_STEPS = "SELECT COUNT(*) FROM steps"
CHECKS = f"""\
def every_command_once(evidence):
    name = evidence.params["word"]
    lines = evidence.after.read("/root/log").decode().splitlines()
    return lines == [f"{{name}} {{k}}" for k in {NUMBERS}]
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "log"
use = "checks.every_command_once"
"""


class Run:
    """A run of four tasks with one agent that counts its steps in the guest's /root/log."""

    def __init__(self, tmp_path, catalogue):
        self.folder = tmp_path / "run"
        self.cache = tmp_path / "cache"
        self.marker = f"77{os.getpid():07}"  # of one length: none is part of another
        self.processes = []
        self._home = tmp_path
        files = {
            "setup/setup.sh": 'sleep 0.05; echo "$PARAM_WORD" > /root/name\n',
            "checks/rubric.toml": RUBRIC,
            "checks/checks.py": CHECKS,
        }
        for name in ("ant", "bee", "cow", "dog"):
            write_task(catalogue, name, files)
        nap = f"sleep 0.05{self.marker}; wc -l < /root/log"
        commands = [f'echo "$(cat /root/name) {k}" >> /root/log; {nap}' for k in NUMBERS]
        commands[0] = f"setsid nohup sleep {self.marker} > /dev/null 2>&1 & {commands[0]}"
        lines = [{"tool": "bash", "arguments": {"command": command}} for command in commands]
        (tmp_path / "count.jsonl").write_text("\n".join(map(json.dumps, lines)))

    def start(self, *arguments):
        arguments = arguments or (
            *("eval", "demo", "--agent", "scripted:count.jsonl", "--jobs", "2"),
            *("--out", "run", "--resume"),
        )
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=self._home,
            env={**os.environ, "AGENTGYM_CACHE": str(self.cache)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    @property
    def pids(self):
        return [process.pid for process in self.processes]

    def reaches(self, process, count):
        """Wait until the run has recorded so many steps; False where it is over before."""
        # The count alone is asked for, because reading every step would slow the run down.
        while sum(sum(row) for row in query(self.folder / "run.db", COUNT_STEPS)) < count:
            if ended_within(process, 0.02):
                return False
        return True

    def steps(self):
        """What is recorded, by task: each step whole, with its own duration."""
        return {row.plan.task: steps for row, steps in self._read()}

    def verdicts(self):
        return {row.plan.task: row.verdict for row, _ in self._read() if row.verdict}

    def _read(self):
        if not (self.folder / "run.db").exists():
            return []
        store = RunStore.open(self.folder)
        try:
            return [(row, [plain(s) for s in store.steps(row.id)]) for row in store.episodes()]
        finally:
            store.close()

    def executed(self):
        """How many commands each sandbox of the dead run had executed, by task."""
        logs = (self.cache / "sandbox" / "live").glob("*/*/u/root/log")
        names = [log.read_text().split()[::2] for log in logs]
        return {f"demo/{found[0]}-v1": len(found) for found in names if found}

    def assert_every_command_ran_once(self):
        for steps in self.steps().values():
            texts = [text for _, _, (text, *_), _ in steps]
            assert texts == [*(f"{k}\n" for k in NUMBERS), "submitted"]
        for row, _ in self._read():
            assert (row.state, row.log, row.error) == ("done", "", "")
            assert row.verdict.scored and row.verdict.outcome

    def has_gone(self, family):
        return not survivors(family) and not running(self.marker)


def plain(step):
    seen = step.observation
    decision = (codec.decision_to_text(step.decision), step.decision.usage)
    return step.index, decision, (seen.text, dict(seen.data), seen.effect), step.duration_s


@pytest.fixture
def run(tmp_path, catalogue):
    run = Run(tmp_path, catalogue)
    yield run
    for process in run.processes:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "times"), [(1, 5), *(pytest.param(s, 7, marks=pytest.mark.full) for s in (1, 2))]
)
def test_killed_at_random_moments_it_loses_at_most_the_step_in_flight(run, seed, times):
    rng = random.Random(seed)
    in_flight = []
    for kills in range(times):
        known, judged = run.steps(), run.verdicts()
        recorded = sum(map(len, known.values()))
        process = run.start()
        # The first two die while they start up or prepare, the others some steps further on.
        target, moment_s = (0, rng.uniform(0.2, 1.0)) if kills < 2 else (rng.randint(1, 8), 0.0)
        assert run.reaches(process, recorded + target)
        assert not ended_within(process, moment_s + rng.uniform(0, 0.06))
        family = descendants(process.pid)
        process.kill()
        _, words = process.communicate(timeout=30)
        assert process.returncode == -signal.SIGKILL, words
        assert wait_until(lambda family=family: run.has_gone(family)), survivors(family)

        now = run.steps()
        for task, steps in known.items():
            assert now[task][: len(steps)] == steps, "a recorded step is lost or another"
        assert judged.items() <= run.verdicts().items()
        executed = run.executed()
        for task, count in executed.items():
            assert count <= len(now[task]) + 1, f"{task}: more than one step was lost"
        in_flight += [count - len(now[task]) for task, count in executed.items()]
    assert in_flight, "no sandbox was killed with work in it"

    process = run.start()
    _, words = process.communicate(timeout=100)
    assert process.returncode == 0, words
    run.assert_every_command_ran_once()
    results = json.loads((run.folder / "results.json").read_text())
    assert results["complete"]
    summary = results["summary"]["scripted:count.jsonl"]
    assert (summary["scored"], summary["errors"], summary["mean_score"]) == (4, 0, 1.0)
    assert not running(run.marker)
    assert_clean(run.cache, run.pids)


def test_an_interrupted_run_says_how_to_go_on_and_does(run):
    process = run.start("eval", "demo", "-a", "scripted:count.jsonl", "-j", "2", "-o", "run")
    assert run.reaches(process, 5)
    family = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 130, words
    assert "Traceback" not in words
    assert wait_until(lambda: run.has_gone(family)), survivors(family)
    assert_clean(run.cache, run.pids)
    known = run.steps()

    hint = re.search(r"^ *agentgym (eval .*--resume)$", words, re.M)
    assert hint, words
    process = run.start(*shlex.split(hint[1]))
    _, words = process.communicate(timeout=60)
    assert process.returncode == 0, words
    run.assert_every_command_ran_once()
    for task, steps in run.steps().items():
        assert steps[: len(known[task])] == known[task]
    assert_clean(run.cache, run.pids)
