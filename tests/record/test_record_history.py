"""What was thought of an episode later: kept, told apart, and never half."""

import subprocess
import sys
from dataclasses import replace

import pytest

from agentgym.errors import RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    CheckpointResult,
    CheckStatus,
    Decision,
    Grading,
    Observation,
    Phase,
    Step,
    StepGrade,
    Verdict,
)

PLAN = EpisodePlan("t/a-v1", 0, 0, "noop")
GRADES = (
    StepGrade(0, CheckStatus.FAIL, "stuck", "é\n\ud800", 3.0, 0),
    StepGrade(1, CheckStatus.NOT_APPLICABLE, "none"),
)


def verdict(score, verifier):
    status = CheckStatus.PASS if score == 1 else CheckStatus.FAIL
    results = (
        CheckpointResult(
            "a", Phase.OUTCOME, status, score, 1.0, "was ☃", step=1, channels=("state",)
        ),
        CheckpointResult("b", Phase.SAFETY, CheckStatus.FAIL, 0.0, 2.0, controllable=False),
    )
    return Verdict(
        *("scored", score == 1, score, 0.5, ("b",), results, "00"),
        uncontrollable=("b",),
        verifier=verifier,
    )


OLD, NEW, NEWER = verdict(0.25, "aaaa"), verdict(1.0, "bbbb"), verdict(0.5, "cccc")


def play(store, episode_id=1, judged=OLD, output=""):
    recorder = store.begin(
        episode_id, params={}, instruction="Go.", sandbox="s", reset_s=0.1, first=Observation("Go.")
    )
    for index in range(2):
        recorder.step(Step(index, Decision(Action("bash")), Observation(f"{output}{index}")))
    recorder.finish(judged, duration_s=2.5, error="why")


@pytest.fixture
def folder(tmp_path):
    store = RunStore.create(tmp_path / "run", {}, [PLAN, PLAN])
    play(store)
    store.close()
    return tmp_path / "run"


@pytest.fixture
def store(folder):
    store = RunStore.open(folder, readonly=False)
    yield store
    store.close()


def grading(grader, version="1", at="2026-01-01T00:00:00.000+00:00", **fields):
    fields = {"grades": GRADES, "steps": 2, "verifier": "aaaa", "rubric": "bbbb", **fields}
    return Grading(grader, version, at=at, **fields)


def add(store, *gradings):
    digest = store.history.trajectory(1)
    store.history.add_gradings(1, [replace(one, trajectory=digest) for one in gradings])


def test_gradings_come_back_as_they_were(store):
    failed = grading("llm:m", grades=(), error="no endpoint")
    given = [replace(one, trajectory="0" * 64) for one in (grading("loops"), failed)]
    store.history.add_gradings(1, given)
    assert store.history.gradings(1) == given
    assert store.history.gradings(2) == []


def test_a_second_grading_replaces_nothing_and_the_newest_is_shown(store):
    add(store, grading("loops", "1"), grading("effect"))
    add(store, grading("loops", "2", grades=()))
    assert [(g.grader, g.version) for g in store.history.gradings(1)] == [
        *[("loops", "1"), ("effect", "1"), ("loops", "2")]
    ]
    newest = store.history.newest_gradings(1)
    assert [(g.grader, g.version, g.grades) for g in newest] == [
        ("effect", "1", GRADES),
        ("loops", "2", ()),
    ]


def test_readers_see_them_while_the_run_is_written(store, folder):
    add(store, grading("loops"))
    reader = RunStore.open(folder)
    assert [g.grader for g in reader.history.newest_gradings(1)] == ["loops"]
    reader.close()


def test_a_verdict_is_replaced_and_the_old_one_kept_whole(store):
    before = store.episode(1)
    store.history.replace_verdict(1, OLD, "why", NEW, at="t1", why="a rubric mended")
    store.history.replace_verdict(1, NEW, "", NEWER, at="t2", why="again")
    row = store.episode(1)
    assert (row.verdict, row.error, row.state) == (NEWER, "", "done")
    assert (row.duration_s, row.steps) == (before.duration_s, 2)
    past = store.history.past_verdicts(1)
    assert [(p.verdict, p.error, p.at, p.why, p.replaced_by) for p in past] == [
        (OLD, "why", "t1", "a rubric mended", "bbbb"),
        (NEW, "", "t2", "again", "cccc"),
    ]


def test_running_an_episode_again_keeps_its_history_and_shows_it_beside_no_other_steps(store):
    add(store, grading("loops"))
    store.history.replace_verdict(1, OLD, "", NEW, at="t1", why="w")
    store.reset_episode(1)
    assert store.episode(1).verdict is None
    play(store, output="another ")
    assert store.history.newest_gradings(1) == []
    assert [g.grader for g in store.history.gradings(1)] == ["loops"]
    assert [p.verdict for p in store.history.past_verdicts(1)] == [OLD]


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("grades", "[{}]", "grading.grades.step: absent"),
        ("grades", "{", "grades: "),
        ("grades", "@" + "0" * 64, "cannot be read"),
        ("error", "1", "error: expected text, got 1"),
    ],
)
def test_a_damaged_grading_is_named(store, column, value, says):
    add(store, grading("loops"))
    store._database.execute(f"UPDATE gradings SET {column} = ?", (value,))
    with pytest.raises(RecordError, match="the history of episode 1 is damaged") as caught:
        store.history.gradings(1)
    assert says in str(caught.value)


def test_a_damaged_past_verdict_is_named(store):
    store.history.replace_verdict(1, OLD, "", NEW, at="t1", why="w")
    store._database.execute("UPDATE past_verdicts SET verdict = '{}'")
    with pytest.raises(
        RecordError, match=r"history of episode 1 is damaged \(t1\): verdict.status"
    ):
        store.history.past_verdicts(1)


def test_a_run_that_is_being_written_is_refused(store, folder):
    with pytest.raises(RecordError, match="is being written by process"):
        RunStore.open(folder, readonly=False)


KILLED = """\
import sys
from pathlib import Path
from agentgym.record.store import RunStore
from test_record_history import OLD, NEW, NEWER, add, grading

store = RunStore.open(Path(sys.argv[1]), readonly=False)
number, now, then = 0, store.episode(1).verdict, NEW
while True:
    store.history.replace_verdict(1, now, "", then, at=f"{number}", why="w")
    now, then = then, NEWER if then == NEW else NEW
    add(store, grading("a", str(number)), grading("b", str(number)))
    number += 1
    print(number, flush=True)
"""


@pytest.mark.parametrize("after", [1, 2, 7, 23])
def test_killed_at_any_moment_the_history_is_consistent(folder, after):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder)],
        cwd=__file__.rpartition("/")[0],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        for _ in range(after):
            assert child.stdout.readline()
        child.kill()
        child.wait(timeout=30)
    store = RunStore.open(folder, readonly=False)
    past, present = store.history.past_verdicts(1), store.episode(1).verdict
    assert len(past) >= after
    # Each verdict was replaced by the one that follows it, the last by the present one.
    chain = [p.verdict for p in past] + [present]
    assert [p.replaced_by for p in past] == [v.verifier for v in chain[1:]]
    versions = [(g.grader, g.version) for g in store.history.gradings(1)]
    assert versions == [(name, str(k)) for k in range(len(versions) // 2) for name in "ab"]
    assert 0 <= len(past) - len(versions) // 2 <= 1
    store.close()
