"""A run folder: what goes in comes out, one process writes, any number read."""

from __future__ import annotations

import doctest
import fcntl
import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from agentgym.errors import RecordError
from agentgym.record import store as store_module
from agentgym.record.database import LOG_BYTES, writer_lock
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Audit,
    CheckpointResult,
    CheckStatus,
    Connection,
    Decision,
    Effect,
    Observation,
    Phase,
    Process,
    Step,
    TokenUsage,
    Verdict,
)

PLAN = EpisodePlan("terminal/demo-v1", seed=7, trial=2, agent="openai:gpt-x")
LONG = "0123456789abcdef" * 1024
NASTY = "naïve \x00 \ud800 😀 \x1b[31m"
VERDICT = Verdict(
    "scored",
    outcome=True,
    score=0.75,
    process=0.5,
    safety_violations=("secrets",),
    checkpoints=(
        CheckpointResult("rows", Phase.OUTCOME, CheckStatus.FAIL, 0.5, 2.0, NASTY, False, 1),
        CheckpointResult("ledger", Phase.OUTCOME, CheckStatus.PASS, 1.0, 1.0, LONG, True, 0),
    ),
    state_hash="f00d",
)
AUDIT = Audit(
    (Process(41, ("nc", "-l", NASTY), (8080,)), Process(7, ())),
    (
        Connection("pypi.org", 443, "connect", "open", 517, 4096),
        Connection("::1", 22, "socks5", "refused: not allowed"),
    ),
    killed_for_memory=2,
)


@pytest.fixture
def run(tmp_path):
    store = RunStore.create(tmp_path / "run", {"trials": 1, "tasks": ("a", "b")}, [PLAN, PLAN])
    yield store
    store.close()


def begin(store, episode_id=1, first=None):
    return store.begin(
        episode_id,
        params={"host": "web-1", "count": 3},
        instruction="Find it. " + NASTY,
        sandbox="bubblewrap",
        reset_s=0.25,
        first=first or Observation("Find it."),
    )


def make_step(index, text="total 0\n", image=None):
    decision = Decision(
        Action("bash", {"command": f"echo {index}; {NASTY}"}),
        thought="look around",
        usage=TokenUsage(100, 20, 5),
        reply={"role": "assistant", "content": NASTY},
    )
    observation = Observation(text, image, {"exit_code": 0}, Effect.CHANGED)
    return Step(index, decision, observation, 0.5)


def assert_equal_steps(got, expected):
    assert [(s.index, s.decision, s.duration_s) for s in got] == [
        (s.index, s.decision, s.duration_s) for s in expected
    ]
    for a, b in zip(got, expected, strict=True):
        seen, made = a.observation, b.observation
        assert (seen.text, seen.data, seen.effect) == (made.text, made.data, made.effect)
        assert np.array_equal(seen.image, made.image)


# --- what goes in comes out ----------------------------------------------------------------


def test_the_example_in_the_documentation():
    assert doctest.testmod(store_module) == (0, 2)


def test_a_new_run_holds_its_plan(run):
    assert run.settings == {"trials": 1, "tasks": ["a", "b"]}
    rows = run.episodes()
    assert [row.id for row in rows] == [1, 2]
    row = rows[0]
    assert (row.plan, row.state, row.params, row.instruction) == (PLAN, "planned", {}, "")
    assert (row.first, row.verdict, row.error, row.parent, row.log) == (None, None, "", None, "")
    assert (row.steps, row.usage, row.duration_s) == (0, TokenUsage(), 0.0)


def test_an_episode_comes_back_whole(run):
    image = np.arange(2 * 4 * 3, dtype=np.uint8).reshape(2, 4, 3)
    recorder = begin(run, first=Observation("Find it.", image))
    steps = [make_step(0), make_step(1, LONG + NASTY), make_step(2, "seen", image)]
    for step in steps:
        recorder.step(step)
    recorder.note("resume diverged at step 1")
    recorder.note(NASTY)
    recorder.finish(VERDICT, duration_s=2.5, error="none " + NASTY, audit=AUDIT)

    with_reader = RunStore.open(str(run.folder))
    row = with_reader.episode(1)
    assert (row.state, row.verdict, row.duration_s, row.reset_s) == ("done", VERDICT, 2.5, 0.25)
    assert (row.params, row.sandbox) == ({"host": "web-1", "count": 3}, "bubblewrap")
    assert row.instruction == "Find it. " + NASTY
    assert row.error == "none " + NASTY
    assert row.audit == AUDIT
    assert row.log == f"resume diverged at step 1\n{NASTY}\n"
    assert np.array_equal(row.first.image, image)
    assert (row.steps, row.usage) == (3, TokenUsage(300, 60, 15))
    assert_equal_steps(with_reader.steps(1), steps)
    assert with_reader.steps(2) == []
    with_reader.close()


def test_large_texts_and_images_are_blobs_and_small_ones_are_not(run):
    recorder = begin(run)
    recorder.step(make_step(0))
    assert not (run.folder / "blobs").exists()
    recorder.step(make_step(1, LONG))
    recorder.step(make_step(2, image=np.zeros((4, 4, 3), np.uint8)))
    assert len([path for path in (run.folder / "blobs").rglob("*") if path.is_file()]) == 2
    assert LONG.encode() not in (run.folder / "run.db-wal").read_bytes()


def test_a_folded_log_is_short_again(run):
    log, recorder = run.folder / "run.db-wal", begin(run)
    while log.stat().st_size < LOG_BYTES:
        recorder.note("x")
    recorder.finish(VERDICT, duration_s=1.0)
    # Else every later end of an episode would fold it again and wait for the disk.
    begin(run, 2)
    assert log.stat().st_size < LOG_BYTES


def test_a_transaction_inside_another_is_committed_with_it_or_not_at_all(run):
    with pytest.raises(KeyError), run.transaction():
        begin(run)
        with run.transaction():
            run.setups.note(1, "ab" * 32)
        raise KeyError
    assert (run.episode(1).state, run.setups.find(1)) == ("planned", "")
    with run.transaction():
        begin(run)
        with run.transaction():
            run.setups.note(1, "ab" * 32)
    assert (run.episode(1).state, run.setups.find(1)) == ("running", "ab" * 32)


def test_a_resumed_episode_keeps_its_steps(run):
    begin(run).step(make_step(0))
    begin(run).step(make_step(1))
    assert [step.index for step in run.steps(1)] == [0, 1]
    assert run.episode(1).state == "running"


def test_a_reset_episode_is_planned_again(run):
    recorder = begin(run)
    recorder.step(make_step(0))
    recorder.note("a note")
    recorder.finish(VERDICT, duration_s=1.0, error="lost", audit=AUDIT)
    fresh = run.episode(2)
    run.reset_episode(1)
    row = run.episode(1)
    assert run.steps(1) == []
    for name in ("state", "audit", "verdict", "error", "log", "first", "steps", "usage", "params"):
        assert getattr(row, name) == getattr(fresh, name), name
    again = begin(run)
    again.step(make_step(0))
    again.finish(VERDICT, duration_s=2.0)
    assert run.episode(1).verdict == VERDICT
    assert run.episode(2) == fresh


def test_a_reopened_episode_keeps_its_steps_and_goes_on(run):
    recorder = begin(run)
    recorder.step(make_step(0))
    recorder.note("a note")
    recorder.finish(VERDICT, duration_s=1.0, error="lost", audit=AUDIT)
    run.reopen_episode(1)
    row = run.episode(1)
    assert (row.state, row.verdict, row.audit, row.steps) == ("running", None, None, 1)
    assert row.log == "a note\n" and not row.error
    again = begin(run)
    again.step(make_step(1))
    again.finish(VERDICT, duration_s=2.0)
    row = run.episode(1)
    assert (row.verdict, row.steps, row.duration_s) == (VERDICT, 2, 2.0)


def test_a_branch_names_its_parent(run):
    branch = run.add(PLAN, parent=(1, 4))
    assert branch == 3
    assert run.episode(3).parent == (1, 4)
    with pytest.raises(RecordError, match="FOREIGN KEY"):
        run.add(PLAN, parent=(99, 0))


# --- misuse --------------------------------------------------------------------------------


def test_an_unknown_episode_is_answered_with_the_known_ones(run, tmp_path):
    with pytest.raises(RecordError, match="has no episode 9; its episodes are 1 to 2"):
        run.episode(9)
    empty = RunStore.create(tmp_path / "empty", {}, [])
    with pytest.raises(RecordError, match="has no episode 1; it has none"):
        empty.episode(1)
    empty.close()


def test_a_step_is_recorded_once(run):
    recorder = begin(run)
    recorder.step(make_step(0))
    for index in (0, 2):
        with pytest.raises(
            RecordError, match=f"step {index} of .* refused: the next one is step 1"
        ):
            recorder.step(make_step(index))
    recorder.step(make_step(1))
    assert [step.index for step in run.steps(1)] == [0, 1]


def test_a_done_episode_is_not_begun_again(run):
    begin(run).finish(VERDICT, duration_s=1.0)
    with pytest.raises(RecordError, match="episode 1 is done; reset it"):
        begin(run)


def test_a_run_is_not_laid_over_another(run):
    run.close()
    with pytest.raises(RecordError, match="already holds a run"):
        RunStore.create(run.folder, {}, [])
    again = RunStore.open(run.folder)
    assert len(again.episodes()) == 2
    again.close()


def test_a_number_that_sqlite_cannot_hold_is_refused(run):
    with pytest.raises(RecordError, match="cannot hold a value"):
        run.add(EpisodePlan("t/a-v1", seed=2**70, trial=0, agent="noop"))
    recorder = begin(run)
    for usage in (TokenUsage(2**63), TokenUsage(0, True), TokenUsage(0, 0, 1.5)):
        decision = Decision(Action("noop"), usage=usage)
        with pytest.raises(RecordError, match="step 0 of episode 1 is refused: .* cannot hold"):
            recorder.step(Step(0, decision, Observation("")))
    for duration_s in (float("nan"), float("inf")):
        with pytest.raises(RecordError, match="is refused: .* cannot hold a duration of"):
            recorder.step(Step(0, Decision(Action("noop")), Observation(""), duration_s))
    assert run.steps(1) == []


# --- one writer, many readers --------------------------------------------------------------

HOLD = """
import sys
from pathlib import Path
from agentgym.record.store import RunStore
store = RunStore.open(Path(sys.argv[1]), readonly=False)
print("holding", flush=True)
sys.stdin.read()
"""


def test_a_second_writer_is_told_who_holds_the_run(run):
    run.close()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "holding\n"
        with pytest.raises(RecordError, match=f"is being written by process {holder.pid};"):
            RunStore.open(run.folder, readonly=False)
        reader = RunStore.open(run.folder)
        assert len(reader.episodes()) == 2
        reader.close()
        holder.kill()
        holder.wait(timeout=30)
    RunStore.open(run.folder, readonly=False).close()


def test_two_writers_in_one_process_exclude_each_other(run):
    with pytest.raises(RecordError, match=f"by process {os.getpid()};"):
        RunStore.open(run.folder, readonly=False)


def test_a_refused_writer_leaves_the_lock_to_its_holder(run):
    for _ in range(2):
        with pytest.raises(RecordError, match="is being written"):
            RunStore.open(run.folder, readonly=False)
    begin(run).step(make_step(0))
    assert len(run.steps(1)) == 1


def test_a_lock_whose_file_was_removed_meanwhile_is_no_lock(tmp_path, monkeypatch):
    lock = fcntl.flock

    def while_its_holder_removes_it(file, kind):
        (tmp_path / "run.lock").unlink()
        lock(file, kind)

    monkeypatch.setattr(fcntl, "flock", while_its_holder_removes_it)
    with pytest.raises(RecordError, match="removed by another process"), writer_lock(tmp_path):
        pytest.fail("two processes could write")


def test_a_reader_sees_each_step_as_it_is_recorded(run):
    reader = RunStore.open(run.folder)
    recorder = begin(run)
    for index in range(5):
        recorder.step(make_step(index, LONG + str(index)))
        assert [step.index for step in reader.steps(1)] == list(range(index + 1))
    recorder.finish(VERDICT, duration_s=1.0)
    assert reader.episode(1).verdict == VERDICT
    reader.close()


def test_a_reader_changes_nothing(run):
    reader = RunStore.open(run.folder)
    with pytest.raises(RecordError, match="readonly"):
        reader.add(PLAN)
    reader.close()


# --- what is no run, or no whole one -------------------------------------------------------


def test_a_folder_without_a_run_is_no_run(tmp_path):
    with pytest.raises(RecordError, match="is not a run folder: it has no run.db"):
        RunStore.open(tmp_path)
    with pytest.raises(RecordError, match="is not a run folder"):
        RunStore.open(tmp_path / "absent", readonly=False)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "run.db").write_bytes(b"once upon a time" * 1000)
    for readonly in (True, False):
        with pytest.raises(RecordError, match=r"run\.db is damaged or no run database"):
            RunStore.open(tmp_path, readonly=readonly)


def test_another_database_is_no_run(tmp_path):
    connection = sqlite3.connect(tmp_path / "run.db")
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.commit()
    connection.close()
    with pytest.raises(RecordError, match="is a SQLite database but holds no agentgym run"):
        RunStore.open(tmp_path)


def test_another_format_version_is_named(run):
    run.close()
    connection = sqlite3.connect(run.folder / "run.db")
    connection.execute("UPDATE meta SET value = 'agentgym.run/9' WHERE key = 'format'")
    connection.commit()
    connection.close()
    with pytest.raises(RecordError, match=r"'agentgym\.run/9'.*reads 'agentgym\.run/3' and"):
        RunStore.open(run.folder)


def test_a_database_damaged_in_the_middle_is_reported(run):
    recorder = begin(run)
    for index in range(200):
        recorder.step(make_step(index))
    run.close()
    path = run.folder / "run.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(b"\xa5" * (size // 2))
    reader = RunStore.open(run.folder)
    with pytest.raises(RecordError, match="damaged"):
        reader.steps(1)
    reader.close()


@pytest.mark.parametrize("damage", ["'total 0' -> 'total 1'", "cut"])
def test_a_damaged_step_is_not_handed_out(run, damage):
    recorder = begin(run)
    recorder.step(make_step(0))
    run.close()
    connection = sqlite3.connect(run.folder / "run.db")
    change = "substr(observation, 1, 9)" if damage == "cut" else "replace(observation, '0', '1')"
    connection.execute(f"UPDATE steps SET observation = {change}")
    connection.commit()
    connection.close()
    reader = RunStore.open(run.folder)
    with pytest.raises(RecordError, match="is damaged"):
        reader.steps(1)
    reader.close()


def damaged(run, statement):
    """Play two episodes, change the database behind the store's back, and open it again."""
    image = np.zeros((2, 2, 3), np.uint8)
    for episode_id in (1, 2):
        recorder = begin(run, episode_id)
        for step in (make_step(0), make_step(1, image=image), make_step(2)):
            recorder.step(step)
        recorder.finish(VERDICT, duration_s=1.0, audit=AUDIT)
    run.close()
    connection = sqlite3.connect(run.folder / "run.db")
    connection.execute(statement)
    connection.commit()
    connection.close()
    return RunStore.open(run.folder)


BLOB = "a" * 64


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("observation = '{}'", "observation.text: absent"),
        ("observation = 'null'", "observation: expected an object, got null"),
        (
            "observation = json_set(observation, '$.image', 7)",
            "observation.image: expected text, got 7",
        ),
        (
            "observation = replace(observation, 'changed', 'odd')",
            "observation.effect: expected one",
        ),
        ("observation = '@../../run.db'", "'../../run.db' is not the name of a blob"),
        (f"observation = '@{BLOB}'", "the blob cannot be read: No such file"),
        ("decision = 'null'", "decision: expected an object, got null"),
        ('decision = \'{"thought": ""}\'', "decision.action: absent"),
        ("completion_tokens = 'few'", 'decision.usage.completion: expected an integer, got "few"'),
        ("completion_tokens = 21", "it does not match its digest"),
        ("duration_s = 0.25", "it does not match its digest"),
        ("decision = replace(decision, '\"bash\"', '[]')", r"decision.action.tool: .* got \[\]"),
        ("decision = x'00ff'", "decision: expected text, got"),
        ("decision = '{'", "decision: "),
        ("duration_s = 'soon'", 'duration_s: expected a number, got "soon"'),
    ],
)
def test_a_damaged_step_is_named_with_its_field(run, change, words):
    reader = damaged(run, f"UPDATE steps SET {change} WHERE episode = 2 AND step = 1")
    with pytest.raises(RecordError, match=f"run: step 1 of episode 2 is damaged: .*{words}"):
        reader.steps(2)
    assert len(reader.steps(1)) == 3
    reader.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE episodes SET verdict = '[]'", r"verdict: expected an object, got \[\]"),
        ("UPDATE episodes SET verdict = 'null'", "verdict: expected an object, got null"),
        ("UPDATE episodes SET verdict = '{}'", "verdict.status: absent"),
        ("UPDATE episodes SET verdict = NULL", "it is done but has no verdict; resume the run"),
        ("UPDATE episodes SET first = '{}'", "observation.text: absent"),
        ("UPDATE episodes SET params = '5'", "params: expected an object, got 5"),
        ("UPDATE episodes SET instruction = '{}'", "instruction: expected text, got {}"),
        ("UPDATE episodes SET reset_s = 'x'", "reset_s: expected a number"),
        ("UPDATE episodes SET seed = 1.5", "seed: expected an integer, got 1.5"),
        ("UPDATE checkpoints SET status = 'good'", "checkpoint.status: expected one of pass, fail"),
        ("UPDATE checkpoints SET message = 'x'", "checkpoint.message: "),
        ("UPDATE episodes SET audit = 'null'", "audit: expected an object, got null"),
        ("UPDATE episodes SET audit = replace(audit, '8080', '-')", "audit: Expecting value"),
        (
            "UPDATE episodes SET audit = replace(audit, '\"nc\"', '7')",
            "audit.processes.argv: expected text, got 7",
        ),
        (
            "UPDATE episodes SET audit = replace(audit, 'received', 'lost')",
            "audit.connections.lost_bytes: no field of this record",
        ),
    ],
)
def test_a_damaged_episode_is_named_with_its_field(run, statement, words):
    column = "episode" if "checkpoints" in statement else "id"
    reader = damaged(run, f"{statement} WHERE {column} = 2")
    with pytest.raises(RecordError, match=f"run: episode 2 is damaged: {words}"):
        reader.episodes()
    assert reader.episode(1).verdict == VERDICT
    reader.close()


@pytest.mark.parametrize(
    ("gone", "missing"),
    [("step = 1", 1), ("step = 0", 0), ("step < 2", 0), ("step = 2", 2), ("step >= 0", 0)],
)
def test_a_missing_step_is_noticed(run, gone, missing):
    reader = damaged(run, f"DELETE FROM steps WHERE episode = 2 AND {gone}")
    with pytest.raises(RecordError, match=f"episode 2 is damaged: step {missing} is missing"):
        reader.steps(2)
    reader.close()


def test_a_picture_that_is_none_is_reported(run):
    begin(run).step(make_step(0, LONG))
    assert len(run.steps(1)) == 1
    (name,) = [path.name for path in (run.folder / "blobs").glob("*/*/*")]
    run._database.execute(
        "UPDATE steps SET observation = ?",
        [f'{{"text":"","data":{{}},"effect":"error","image":"{name}"}}'],
    )
    with pytest.raises(RecordError, match=r"step 0 of episode 1 is damaged: observation\.image: "):
        run.steps(1)


def test_settings_that_are_none_are_reported_and_the_lock_is_let_go(run):
    run.close()
    connection = sqlite3.connect(run.folder / "run.db")
    connection.execute("UPDATE meta SET value = '[]' WHERE key = 'settings'")
    connection.commit()
    connection.close()
    for _ in range(2):
        with pytest.raises(RecordError, match=r"settings: expected an object, got \[\]"):
            RunStore.open(run.folder, readonly=False)


def test_an_episode_that_lost_its_verdict_can_be_planned_again(run):
    damaged(run, "UPDATE episodes SET verdict = NULL WHERE id = 2").close()
    writer = RunStore.open(run.folder, readonly=False)
    assert writer.unjudged() == [2]
    writer.reset_episode(2)
    assert [row.state for row in writer.episodes()] == ["done", "planned"]
    writer.close()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(RecordError, match=r"file/run: a run cannot be created here: .*directory"):
        RunStore.create(tmp_path / "file" / "run", {}, [PLAN])


def test_a_leftover_of_a_process_that_died_while_creating_is_no_obstacle(tmp_path):
    (tmp_path / "run.db.part").write_bytes(b"half")
    store = RunStore.create(tmp_path, {}, [PLAN])
    assert len(store.episodes()) == 1
    store.close()


FILL = """
import random, resource, sys
from pathlib import Path
from agentgym.errors import RecordError
from agentgym.record.store import RunStore
from agentgym.records import Action, Decision, Observation, Step
store = RunStore.open(Path(sys.argv[1]), readonly=False)
recorder = store.begin(1, params={}, instruction="", sandbox="x", reset_s=0, first=Observation(""))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
noise = random.Random(0)
index = 0
try:
    while True:
        text = noise.randbytes(int(sys.argv[2])).hex()
        recorder.step(Step(index, Decision(Action("noop")), Observation(text)))
        index += 1
except RecordError as error:
    print(index, error)
"""


@pytest.mark.parametrize(
    "size",
    [100, 1_000_000],
    ids=["database", "blob"],
)
def test_when_no_more_can_be_written_what_was_recorded_stays(run, size):
    run.close()
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(run.folder), str(size)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    count, message = done.stdout.split(" ", 1)
    assert str(run.folder) in message
    assert "disk" in message or "File too large" in message
    reader = RunStore.open(run.folder)
    assert [step.index for step in reader.steps(1)] == list(range(int(count)))
    assert (int(count) > 0) is (size == 100)
    assert not list((run.folder / "blobs").glob(".*"))
    reader.close()
    writer = RunStore.open(run.folder, readonly=False)
    begin(writer).step(make_step(int(count)))
    assert len(writer.steps(1)) == int(count) + 1
    writer.close()
