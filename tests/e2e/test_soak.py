"""A soak test: hundreds of episodes while guests, supervisors and workers are killed at random.

`make test` runs 200 episodes and `make test-full` 2,000; `AGENTGYM_SOAK=N` runs N.
`AGENTGYM_SOAK_SEED=S`, printed by every run, draws the same moments again.
"""

import gc
import hashlib
import json
import os
import random
import subprocess
import tempfile
import time
import zlib
from collections import Counter

import pytest
from agentgym_command import PROGRAM
from injury import BubblewrapGuests, DockerGuests, Injuries, finished, query
from process_table import running, survivors
from remains import Traces, belongings, ended_within, newer, wait_until
from small_task import write_task
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.eval.plan import start_run
from agentgym.record.store import RunStore
from agentgym.verify.worker.pool import WORKERS

JOBS = 3
TASKS = ("ant", "bee", "cow", "dog")
CHECKS = """\
def log(evidence):
    lines = evidence.after.read("/root/log").decode().splitlines()
    return lines == [f"{evidence.params['word']} {k}" for k in (1, 2, 3)]


def log_in_a_room(evidence):
    seen = evidence.room(["/root/log"]).run(["wc", "-l", "/root/log"])
    return seen.stdout == b"3 /root/log\\n"
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "log"
use = "checks.{check}"
"""


class Soak:
    """A run of four small tasks, played by one worker after another."""

    def __init__(self, sandbox, episodes, home, catalogue, rng):
        self.sandbox, self.rng = sandbox, rng
        self.trials = max(1, episodes // len(TASKS))
        self.home, self.folder, self.cache = home, home / "run", home / "cache"
        (home / "tmp").mkdir(parents=True)
        self.marker = f"78{os.getpid():07}"
        self.traces = Traces(home)
        self.injuries = Counter()
        for name in TASKS:
            check = "log" if name in TASKS[:2] else "log_in_a_room"
            files = {
                "setup/setup.sh": 'set -e; sleep 0.02; echo "$PARAM_WORD" > /root/name\n',
                "checks/rubric.toml": RUBRIC.format(check=check),
                "checks/checks.py": CHECKS,
            }
            write_task(catalogue, name, files)
        note = 'echo "$(cat /root/name) {}" >> /root/log'
        lines = (
            f"setsid nohup sleep {self.marker} > /dev/null 2>&1 & {note.format(1)}",
            f"{note.format(2)}; head -c 7000 /dev/urandom | base64",
            f"sleep 0.02{self.marker}; {note.format(3)}",
        )
        actions = [{"tool": "bash", "arguments": {"command": line}} for line in lines]
        (home / "plan.jsonl").write_text("\n".join(map(json.dumps, actions)))
        # A record is not trusted to name a program of somebody else's.
        self.named = ("--agent", f"scripted:{home}/plan.jsonl")
        self.asked = {
            "patterns": ("demo",),
            "agents": (f"scripted:{home}/plan.jsonl",),
            "sandbox": sandbox,
            "jobs": JOBS,
        }

    @property
    def database(self):
        return self.folder / "run.db"

    def guests(self, worker):
        if self.sandbox == "docker":
            return DockerGuests(self.cache / "docker")
        return BubblewrapGuests(worker)

    # --- workers -----------------------------------------------------------------------------

    def begin(self):
        """Lay down the run, and play a few episodes of another in this process."""
        start_run(self.home / "first", {**self.asked, "trials": 1}).close()
        self._play(self.home / "first")
        start_run(self.folder, {**self.asked, "trials": self.trials}).close()

    def life_of_a_worker(self, until):
        """Run `agentgym eval` until so many episodes are over, hurting guests; then kill it."""
        # The test does not read while the worker plays, and a pipe is full after 700 episodes.
        said = self.home / "said"
        with said.open("w") as stderr:
            process = subprocess.Popen(
                [PROGRAM, "eval", *self.named, "--out", "run", "--resume"],
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
        try:
            with self.hurting(process.pid):
                while finished(self.database) < until and not ended_within(process, 0.02):
                    pass
                ended_within(process, self.rng.uniform(0, 0.1))
                family = self.traces.note(process.pid)
                process.kill()
        finally:
            process.kill()
            process.wait(timeout=30)
        words = said.read_text()
        assert "Traceback" not in words, words
        assert wait_until(lambda: not survivors(family)), survivors(family)

    def last_life(self):
        """Play the rest in this process, hurting guests."""
        with self.hurting(os.getpid()):
            self._play(self.folder)

    def aftermath(self):
        """Play what has no score again, in peace."""
        self._play(self.folder, codes=(0,))

    def _play(self, folder, codes=(0, 3)):
        # 3: an episode that lost its sandbox has no score.
        done = CliRunner().invoke(app, ["eval", *self.named, "--out", str(folder), "--resume"])
        assert done.exit_code in codes, done.output

    # --- what must be true of the record -----------------------------------------------------

    def hurting(self, worker):
        return Hurting(self, worker)

    def unscored(self):
        """Id, status and error of each episode that is over and has no score."""
        rows = query(self.database, "SELECT id, verdict, error FROM episodes WHERE state = 'done'")
        found = [(id, json.loads(verdict)["status"], error) for id, verdict, error in rows]
        return [row for row in found if row[1] != "scored"]

    def assert_errors_have_a_cause(self, injuries, before):
        """What has no score names its boundary, and lost a sandbox to one of the injuries.

        A worker that was killed at once has not begun to play again what had none before.
        """
        failed = [row for row in self.unscored() if row not in before]
        boundaries = {"error:sandbox", "error:task", "error:verifier"}
        assert {status for _, status, _ in failed} <= boundaries, failed
        assert all(error for _, _, error in failed), failed
        assert {id for id, _, _ in failed} <= injuries.suspects, (
            [row for row in failed if row[0] not in injuries.suspects],
            injuries.done,
        )
        assert len(failed) <= len(injuries.done), failed

    def assert_complete(self):
        """Every planned episode was played to its verdict, once, with all its steps."""
        store = RunStore.open(self.folder)
        try:
            rows = store.episodes()
            steps = {row.id: store.steps(row.id) for row in rows}
        finally:
            store.close()
        planned = Counter((f"demo/{name}-v1", t) for t in range(self.trials) for name in TASKS)
        assert Counter((row.plan.task, row.plan.trial) for row in rows) == planned
        assert {row.state for row in rows} == {"done"}
        assert all(row.verdict.scored and not row.error for row in rows)
        for row in rows:
            assert [step.index for step in steps[row.id]] == list(range(row.steps))
            # One whose sandbox ended after the last line was written had nothing left to do.
            assert row.steps in (3, 4) or not row.verdict.outcome, row
        passed = sum(row.verdict.outcome for row in rows)
        assert len(rows) - passed <= self.injuries.total(), "an episode failed that nobody hurt"
        assert query(self.database, "PRAGMA integrity_check") == [("ok",)]
        blobs = [path for path in (self.folder / "blobs").rglob("*") if path.is_file()]
        assert len(blobs) >= passed
        for path in blobs:
            content = zlib.decompress(path.read_bytes())
            assert hashlib.sha256(content).hexdigest() == path.name
        return passed


class Hurting:
    """A context in which guests of a worker are hurt; at its end the errors are accounted for."""

    def __init__(self, soak, worker):
        self._soak = soak
        self._guests = soak.guests(worker)
        every_s = 1.0 if soak.sandbox == "docker" else 0.2
        self._injuries = Injuries(self._guests, soak.database, soak.rng, every_s)

    def __enter__(self):
        self._before = self._soak.unscored()
        self._injuries.__enter__()

    def __exit__(self, kind, *_):
        self._injuries.__exit__()
        self._soak.injuries.update(self._injuries.done)
        if self._soak.sandbox == "docker":
            self._soak.traces.containers |= self._guests.seen
            self._guests.close()
        if kind is None:
            self._soak.assert_errors_have_a_cause(self._injuries, self._before)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("sandbox", "share", "lives"),
    [
        ("bubblewrap", 0.94, 6),
        pytest.param("docker", 0.06, 2, marks=[pytest.mark.docker, pytest.mark.full]),
    ],
)
def test_soak(sandbox, share, lives, full, catalogue, tmp_path, monkeypatch):
    episodes = int(os.environ.get("AGENTGYM_SOAK", "2000" if full else "200"))
    seed = int(os.environ.get("AGENTGYM_SOAK_SEED", time.time_ns() % 1_000_000))
    print(f"AGENTGYM_SOAK_SEED={seed}")
    home = tmp_path / "soak"
    soak = Soak(sandbox, int(share * episodes), home, catalogue, random.Random(seed))
    monkeypatch.setenv("AGENTGYM_CACHE", str(soak.cache))
    monkeypatch.setenv("TMPDIR", str(home / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(home / "tmp"))
    soak.begin()
    WORKERS.close()
    before = belongings()
    total = soak.trials * len(TASKS)
    for life in range(lives):
        soak.life_of_a_worker(int(total * 0.8 * (life + soak.rng.random()) / lives))
    soak.last_life()
    WORKERS.close()  # they last as long as this process, for its next episodes
    gc.collect()  # what only a cycle holds lasts until a collection, which may be far away
    assert wait_until(lambda: not newer(before)), newer(before)
    soak.aftermath()
    WORKERS.close()
    gc.collect()
    assert wait_until(lambda: not newer(before)), newer(before)
    assert not running(soak.marker)
    assert soak.traces.left() == {}
    if sandbox == "docker":
        guests = soak.guests(0)
        try:
            assert guests.left() == {"containers": [], "images": []}
        finally:
            guests.forget()
            guests.close()
    passed = soak.assert_complete()
    print(f"{total} episodes, {passed} passed; injuries: {dict(soak.injuries)}")
