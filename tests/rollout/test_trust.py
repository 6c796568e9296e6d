"""What a record from a stranger may have executed: nothing that the user did not name too."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentgym import plugins
from agentgym.cli import app as commands
from agentgym.cli.app import app
from agentgym.errors import ConfigError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision, Observation, Step, Verdict
from agentgym.rollout.trust import Named, UnnamedError, isolates, named_tasks, reaching_out
from agentgym.task.adhoc import lay_down as lay_down_play
from agentgym.task.load import find_task

TOML = """
schema_version = "agentgym.task/1"
id = "evil/hello-v1"
title = "Hello"
difficulty = "easy"
env = "terminal"
max_steps = 5
"""
RUBRIC = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "done"
title = "It is done"
use = "checks.done"
"""


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A task folder whose checks leave a mark when they are imported."""
    folder = tmp_path / "evil" / "hello"
    for name, text in {
        "task.toml": TOML,
        "instruction.md": "Say hello.",
        "setup/setup.sh": "true",
        "solution/solve.sh": "true",
        "checks/rubric.toml": RUBRIC,
        "checks/checks.py": f"open({str(tmp_path / 'mark')!r}, 'w').close()\n"
        "def done(evidence):\n    return True\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def lay_down(
    folder: Path, task: str, *, sandbox: str = "bubblewrap", agent: str = "noop", done: bool = True
) -> Path:
    settings = {"tasks": [task], "agents": [agent], "sandbox": sandbox}
    store = RunStore.create(folder, settings, [EpisodePlan(task, 0, 0, agent)])
    recorder = store.begin(
        *(1,), params={}, instruction="", sandbox=sandbox, reset_s=0, first=Observation("")
    )
    recorder.step(Step(0, Decision(Action("bash", {"command": "id"})), Observation("0"), 0.1))
    if done:
        recorder.finish(Verdict("scored", True, 1.0, verifier="0" * 12), duration_s=1.0)
    store.close()
    return folder


def line(monkeypatch, *words: object):
    """Run a command line as the program does."""
    texts = [str(word) for word in words]
    monkeypatch.setattr(sys, "argv", ["agentgym", *texts])
    return CliRunner().invoke(app, texts)


RUN = "RUN"
COMMANDS = [
    ("replay", RUN, 1, "--verify"),
    ("replay", RUN, 1, "--branch", 0, "--agent", "noop"),
    ("regrade", RUN, "--force"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: " ".join(map(str, c)))
@pytest.mark.parametrize("danger", ["task", "sandbox"])
def test_a_recorded_folder_or_local_sandbox_is_refused_with_the_line_to_type(
    monkeypatch, tmp_path, evil, command, danger
):
    task = str(evil) if danger == "task" else "terminal/git-repair-v1"
    run = lay_down(tmp_path / "run", task, sandbox="local" if danger == "sandbox" else "bubblewrap")
    words = [run if word == RUN else word for word in command]
    done = line(monkeypatch, *words)
    assert isinstance(done.exception, ConfigError)
    told = str(done.exception)
    added = ["--task", str(evil)] if danger == "task" else ["--sandbox", "local"]
    assert told.splitlines()[-1].split() == ["agentgym", *map(str, words), *added]
    assert ("outside" in told or "in no catalogue" in told) == (danger == "task")
    assert not (tmp_path / "mark").exists()


def test_grading_goes_on_without_a_task_that_only_the_record_names(monkeypatch, tmp_path, evil):
    run = lay_down(tmp_path / "run", str(evil))
    done = line(monkeypatch, "grade", run, "--grader", "loops")
    assert done.exit_code == 0
    assert "graded without its task" in done.stderr
    assert f"--task {evil}" in done.stderr
    named = line(monkeypatch, "grade", run, "--grader", "loops", "--task", evil)
    assert named.exit_code == 0 and not named.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sandbox": "local"}, "isolates nothing"),
        ({"agent": "scripted:/etc/passwd"}, "the record names agent 'scripted:/etc/passwd'"),
        ({"agent": "python:evil:Agent"}, "the record names agent 'python:evil:Agent'"),
        ({"agent": "./evil.py:Agent"}, "the record names agent './evil.py:Agent'"),
    ],
)
def test_a_run_is_not_resumed_with_what_only_its_record_names(monkeypatch, tmp_path, given, words):
    run = lay_down(tmp_path / "run", "terminal/git-repair-v1", done=False, **given)
    done = line(monkeypatch, "eval", "--out", run, "--resume")
    assert isinstance(done.exception, ConfigError)
    told = str(done.exception)
    assert words in told
    (flag, value) = ("--sandbox", "local") if "sandbox" in given else ("--agent", given["agent"])
    again = shlex.split(told.splitlines()[-1])
    assert again == ["agentgym", "eval", flag, value, "--out", str(run), "--resume"]
    # The line is the answer: what is said after it, if anything, is about something else.
    assert words not in str(line(monkeypatch, *again[1:], "--max-steps", 1).exception)


def test_a_recorded_folder_is_not_resumed_even_where_the_settings_hide_it(
    monkeypatch, tmp_path, evil
):
    honest = tmp_path / "honest" / "hello"
    run = tmp_path / "run"
    settings = {"tasks": [str(honest)], "agents": ["noop"]}
    RunStore.create(run, settings, [EpisodePlan(str(evil), 0, 0, "noop")]).close()
    evil.parent.joinpath("copy").mkdir()
    honest.parent.mkdir()
    honest.symlink_to(evil)
    done = line(monkeypatch, "eval", honest, "--out", run, "--resume")
    assert f"names the task folder {evil}" in str(done.exception)
    assert not (tmp_path / "mark").exists()


@pytest.fixture
def inside(tmp_path, evil, monkeypatch):
    """A run that brings a catalogue along, and is the working directory."""
    run = lay_down(tmp_path / "run", "evil/hello-v1")
    (run / "tasks").mkdir()
    evil.parent.rename(run / "tasks" / "evil")
    monkeypatch.chdir(run)
    return run


@pytest.mark.parametrize("place", [".", "below"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: " ".join(map(str, c)))
def test_a_catalogue_that_came_with_the_run_is_not_the_users(
    monkeypatch, tmp_path, inside, command, place
):
    if place != ".":
        (inside / "tasks").rename((inside / place).mkdir() or inside / place / "tasks")
        monkeypatch.chdir(inside / place)
    words = [inside if word == RUN else word for word in command]
    done = line(monkeypatch, *words)
    assert isinstance(done.exception, ConfigError)
    again = str(done.exception).splitlines()[-1].split()
    assert again == ["agentgym", *map(str, words), "--task", "evil/hello-v1"]
    assert "in a run folder" in str(done.exception) and not (tmp_path / "mark").exists()
    assert "in a run folder" not in str(line(monkeypatch, *again[1:]).exception)


def test_nor_is_a_run_resumed_or_read_with_it(monkeypatch, tmp_path, inside):
    more = lay_down(tmp_path / "run2", "evil/hello-v1", done=False)
    done = line(monkeypatch, "eval", "--out", more, "--resume")
    assert "names the task evil/hello-v1, which is in a run folder" in str(done.exception)
    graded = line(monkeypatch, "grade", inside, "--grader", "loops")
    assert graded.exit_code == 0 and "graded without its task" in graded.stderr
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [("config.json", '{"schema_version": "agentgym.train/1"}'), ("checkpoint.pt", "")],
)
def test_the_folder_of_a_training_run_brings_no_catalogue_either(inside, name, text):
    (inside / "run.db").unlink()
    assert Named().task("evil/hello-v1")
    (inside / name).write_text(text)
    with pytest.raises(UnnamedError, match="in a run folder"):
        Named().task("evil/hello-v1")
    assert Named(("evil/hello-v1",)).task("evil/hello") == "evil/hello"


def test_the_users_own_catalogue_beside_a_run_needs_no_naming(monkeypatch, tmp_path, inside):
    (project := tmp_path / "project").mkdir()
    (inside / "tasks").rename(project / "tasks")
    inside.rename(project / "run")
    monkeypatch.chdir(project)
    assert Named().task("evil/hello-v1") == "evil/hello-v1"
    monkeypatch.chdir(project / "run")
    monkeypatch.setenv("AGENTGYM_PATH", str(project))
    assert Named().task("evil/hello") == "evil/hello"
    assert find_task("evil/hello").folder == project / "tasks" / "evil" / "hello"


# --- what naming means ---------------------------------------------------------------------


def test_a_named_folder_stands_for_the_recorded_one_and_for_one_that_moved(tmp_path, evil):
    assert Named((str(evil),)).task(str(evil)) == str(evil)
    assert Named((str(evil),)).task("/home/a/tasks/hello") == str(evil)
    for named in (Named(), Named((str(evil),))):
        with pytest.raises(UnnamedError, match=r"/home/a/tasks/other"):
            named.task("/home/a/tasks/other")


def test_a_folder_is_named_with_or_without_its_dot(tmp_path, evil, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("evil/hello", "./evil/hello", str(evil), "evil"):
        assert named_tasks([name]) == (str(evil),)


def test_free_play_needs_no_naming_unless_it_reaches_out(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    safe = str(lay_down_play("terminal"))
    Named().admit(safe, find_task(Named().task(safe)))
    outer = str(lay_down_play("terminal", options={"mcp": {"command": "/bin/false"}}))
    with pytest.raises(UnnamedError, match=f"--task {outer}"):
        Named().admit(outer, find_task(Named().task(outer)))
    Named((outer,)).admit(outer, find_task(Named().task(outer)))


def test_tasks_of_the_catalogues_need_no_naming():
    assert Named().task("terminal/git-repair-v1") == "terminal/git-repair-v1"
    Named().admit("terminal/git-repair-v1", find_task("terminal/git-repair-v1"))


def test_recorded_actions_do_not_reach_a_server_outside_the_sandbox(evil):
    server = '[surface.mcp]\ncommand = "/bin/false"\n'
    (evil / "task.toml").write_text(TOML + server)
    task = find_task(str(evil))
    assert reaching_out(task) == "mcp"
    assert reaching_out(find_task("terminal/git-repair-v1")) is None
    with pytest.raises(UnnamedError, match="run outside the sandbox; .*--task mine/tools-v1"):
        Named().admit("mine/tools-v1", task)
    Named(("mine/tools-v1",)).admit("mine/tools-v1", task)


def test_every_bundled_provider_says_whether_it_isolates():
    found = {name: isolates(name) for name in plugins.names("agentgym.sandboxes")}
    assert {name for name, does in found.items() if not does} == {"local"}


def test_an_error_cannot_steer_the_terminal(capsys):
    from agentgym.cli import complain

    complain(ConfigError("no task \x1b]0;owned\x07"))
    assert "\x1b]" not in capsys.readouterr().err
    assert commands.app is app
