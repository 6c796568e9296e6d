"""`agentgym grade` and what `replay` shows of it, over a run that was laid down by hand."""

import json

import pytest
import typer
from typer.testing import CliRunner

from agentgym.cli.grade import grade
from agentgym.cli.regrade import regrade
from agentgym.cli.replay import replay
from agentgym.errors import ConfigError, NotFoundError, RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision, Effect, Observation, Step, Verdict

ACTIONS = [
    ("bash", {"command": "ls"}, "a\n", Effect.CHANGED),
    ("bsh", {"command": "ls"}, "error: no tool named 'bsh'", Effect.ERROR),
    *[("read_file", {"path": "/é\x1b[2J"}, "error: \u202eno such file", Effect.ERROR)] * 3,
    ("submit", {}, "submitted", Effect.NO_CHANGE),
]


@pytest.fixture
def folder(tmp_path, demo):
    """A failed episode, one that is running, and one that has not begun."""
    plans = [EpisodePlan("demo/hello-v1", 0, trial, "scripted") for trial in range(3)]
    store = RunStore.create(tmp_path / "run", {}, plans)
    for id in (1, 2):
        recorder = store.begin(
            *(id,), params={}, instruction="Hi.", sandbox="s", reset_s=0.1, first=Observation("Hi.")
        )
        for index, (tool, arguments, text, effect) in enumerate(ACTIONS):
            seen = Observation(text, effect=effect)
            recorder.step(Step(index, Decision(Action(tool, arguments)), seen))
        if id == 1:
            recorder.finish(Verdict("scored", False, 0.25, verifier="abc"), duration_s=1.0)
    store.close()
    return tmp_path / "run"


def invoke(command, *arguments):
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    return result.exit_code, result.stdout


def lines(output, grader):
    return [line.split() for line in output.splitlines() if line.startswith(grader)]


def test_a_table_an_episode_with_the_first_failing_step(folder):
    code, out = invoke(grade, folder)
    assert code == 0
    assert "episode 1  demo/hello-v1  scripted  failed  score 0.250  6 steps" in out
    assert "episode 2  demo/hello-v1  scripted  running  6 steps" in out
    assert "episode 3" not in out
    first, second = lines(out, "validity")
    assert first[:6] == ["validity", "1", "2", "4", "–", "1"]
    assert "illegal: no tool named 'bsh'" in " ".join(first)
    assert first == second
    assert lines(out, "loops")[0][:7] == ["loops", "1", "5", "1", "–", "4", "stuck:"]
    assert lines(out, "localisation")[0][:7] == ["localisation", "1", "0", "1", "–", "1", "error:"]
    assert "\x1b[2J" not in out and "\u202e" not in out


def test_every_grade_in_the_file_has_its_grader_and_version(folder, tmp_path):
    invoke(grade, folder, "-g", "loops:2", "-g", "validity", "-e", "1", "--json", tmp_path / "g")
    document = json.loads((tmp_path / "g").read_text())
    assert document["schema"] == "agentgym.gradings/1"
    (episode,) = document["episodes"]
    assert (episode["id"], episode["steps"], episode["verifier"]) == (1, 6, "abc")
    loops, validity = episode["gradings"]
    assert (loops["grader"], loops["version"]) == ("loops:2", "1+times=2")
    assert (loops["first_failing_step"], validity["first_failing_step"]) == (3, 1)
    assert loops["verifier"] == "abc"
    assert loops["grades"][3] == {
        "step": 3,
        "status": "fail",
        "label": "stuck",
        "message": "the same action 2 times, no change, since step 2",
        "value": 2.0,
        "since": 2,
        "measures": {},
    }
    assert [g["status"] for g in validity["grades"]] == ["pass", *["fail"] * 4, "pass"]


def test_grading_twice_keeps_both_and_history_shows_them(folder):
    invoke(grade, folder, "-g", "loops", "-e", "1")
    invoke(grade, folder, "-g", "loops", "-g", "effect", "-e", "1")
    code, out = invoke(grade, folder, "--history")
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.startswith("20")]
    assert [row[1] for row in rows] == ["loops", "loops", "effect"]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


def test_replay_shows_the_grades_beside_their_steps(folder):
    invoke(grade, folder, "-e", "1")
    out = invoke(replay, folder, 1)[1]
    beside = out.partition("step 4")[2].partition("step 5")[0].splitlines()
    assert "✗ loops: stuck  the same action 3 times, no change, since step 2" in beside
    assert "✗ effect: error" in beside
    assert "✗ validity" not in out.partition("step 1 ")[0]
    # Of the second episode, which nobody has graded, there is nothing to show.
    assert "✗ " not in invoke(replay, folder, 2)[1]


def test_a_run_that_is_being_written_is_refused(folder):
    writer = RunStore.open(folder, readonly=False)
    for command in (grade, regrade):
        with pytest.raises(RecordError, match="is being written by process"):
            invoke(command, folder)
    # Looking at what is kept needs no lock.
    assert invoke(grade, folder, "--history")[0] == 0
    writer.close()


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (("-g", "loop"), NotFoundError, "did you mean 'loops'"),
        (("-g", "loops:x"), ConfigError, "at least 2, got 'x'"),
        (("-g", "loops", "--history"), ConfigError, "takes no --grader"),
        (("-e", "7"), RecordError, "has no episode 7; its episodes are 1 to 3"),
    ],
)
def test_mistakes_are_told_and_nothing_is_kept(folder, arguments, error, says):
    with pytest.raises(error, match=says):
        invoke(grade, folder, *arguments)
    store = RunStore.open(folder)
    assert store.history.gradings(1) == []
    store.close()
