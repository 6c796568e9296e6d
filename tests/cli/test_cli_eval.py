"""`agentgym eval` as a user runs it, in real sandboxes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from demo_suite import COMMAND, Cli, write_task

from agentgym import plugins

PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()
needs_sandbox = pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")


def results_of(folder: Path) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return results


@needs_sandbox
def test_a_run_is_scored_and_can_be_reported_again(cli: Cli, tmp_path: Path) -> None:
    done = cli("eval", "demo", "-a", "oracle", "-a", "noop", "-k", "2", "--jobs", "2", "-o", "run")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    results = results_of(tmp_path / "run")
    assert results["complete"]
    assert results["summary"]["oracle"]["pass@1"] == 1.0
    assert results["summary"]["noop"]["mean_score"] == 0.0
    assert sum("/8] " in line for line in done.stderr.splitlines()) == 8
    assert "oracle" in done.stdout and "run/report.html" in done.stdout

    (tmp_path / "run/results.json").unlink()
    (tmp_path / "run/report.html").unlink()
    again = cli("report", "run")
    assert again.returncode == 0
    assert again.stdout == done.stdout
    assert results_of(tmp_path / "run") == results
    assert "demo/hello-v1" in (tmp_path / "run/report.html").read_text()

    blocked = cli("eval", "demo", "-a", "noop", "-o", "run")
    assert blocked.returncode == 2
    assert "already holds a run; add --resume" in blocked.stderr


@needs_sandbox
def test_sandboxes_started_ahead_change_no_result_and_leave_nothing(
    cli: Cli, tmp_path: Path
) -> None:
    cache = {"AGENTGYM_CACHE": str(tmp_path / "cache")}
    found = []
    for size in ("0", "3"):
        asked = ("demo", "-a", "oracle", "-a", "noop", "-k", "3", "-j", "2", "--pool", size)
        done = cli("eval", *asked, "-o", f"run{size}", **cache)
        assert done.returncode == 0, done.stderr
        assert list((tmp_path / "cache/sandbox/live").iterdir()) == []
        tasks = results_of(tmp_path / f"run{size}")["tasks"]
        found.append([[(e["agent"], e["seed"], e["score"]) for e in t["episodes"]] for t in tasks])
    assert found[0] == found[1] and len(found[0][0]) == 6
    refused = cli("eval", "demo", "-a", "noop", "--pool", "-1")
    assert refused.returncode == 2 and "--pool" in refused.stderr


def test_all_mistakes_are_named_at_once_and_nothing_is_left(
    cli: Cli, demo: Path, tmp_path: Path
) -> None:
    write_task(demo, "needy", needs='["no-such-command-xyz"]')
    broken = write_task(demo, "broken")
    (broken / "checks/rubric.toml").write_text("pass_score = 'much'\n")
    done = cli(
        *("eval", "demo", "terminl", "-a", "oracl", "-a", "scripted:absent.jsonl"),
        *("--sandbox", "bubblewrp", "-o", "run"),
    )
    assert done.returncode == 2
    assert not (tmp_path / "run").exists()
    for words in (
        "did you mean 'terminal'",
        "did you mean 'oracle'",
        "absent.jsonl",
        "did you mean 'bubblewrap'",
        "no-such-command-xyz is not installed, needed by demo/needy-v1; run: apt-get install",
        "demo/broken/checks/rubric.toml",
    ):
        assert words in done.stderr


@pytest.mark.parametrize("arguments", [("eval",), ("eval", "demo"), ("eval", "-a", "noop")])
def test_something_is_missing(cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments, "--out", "run")
    assert done.returncode == 2
    assert "e.g." in done.stderr
    assert not (tmp_path / "run").exists()


@needs_sandbox
def test_nothing_scored_is_a_failure_with_a_reason(cli: Cli, demo: Path, tmp_path: Path) -> None:
    setup = demo / "tasks/demo/hello/setup"
    setup.mkdir()
    (setup / "setup.sh").write_text("echo the disk of the setup is broken; exit 3\n")
    done = cli("eval", "demo/hello", "-a", "noop", "-a", "oracle", "-o", "run")
    assert done.returncode == 1
    assert "nothing could be scored: 2 × error:task" in done.stderr
    assert "the disk of the setup is broken" in done.stderr
    episodes = results_of(tmp_path / "run")["tasks"][0]["episodes"]
    assert [(e["status"], e["score"]) for e in episodes] == [("error:task", None)] * 2

    (setup / "setup.sh").write_text("true\n")
    healed = cli("eval", "--out", "run", "--resume")
    assert healed.returncode == 0, healed.stderr
    assert results_of(tmp_path / "run")["summary"]["oracle"]["mean_score"] == 1.0


@needs_sandbox
def test_resume_with_other_settings_names_the_difference(cli: Cli, tmp_path: Path) -> None:
    assert cli("eval", "demo/hello", "-a", "noop", "-o", "run").returncode == 0
    before = (tmp_path / "run/results.json").read_bytes()
    other = cli("eval", "demo", "-a", "noop", "--trials", "3", "--out", "run", "--resume")
    assert other.returncode == 2
    assert "trials was 1 when this run was started and is 3 now" in other.stderr
    assert "tasks was demo/hello-v1 when" in other.stderr
    assert (tmp_path / "run/results.json").read_bytes() == before
    same = cli("eval", "demo/hello", "-a", "noop", "-j", "2", "--out", "run", "--resume")
    assert same.returncode == 0, same.stderr


def test_resume_needs_a_run(cli: Cli, tmp_path: Path) -> None:
    assert "add --out DIR" in cli("eval", "--resume").stderr
    done = cli("eval", "--out", "nowhere", "--resume")
    assert done.returncode == 2
    assert "nowhere holds no run" in done.stderr
    assert not (tmp_path / "nowhere").exists()


@needs_sandbox
def test_resume_where_nothing_was_begun_begins_and_says_so(cli: Cli, tmp_path: Path) -> None:
    done = cli("eval", "demo/hello", "-a", "noop", "--out", "nowhere", "--resume")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[1] == "nothing to resume in nowhere, starting a new run"
    again = cli("eval", "demo/hello", "-a", "noop", "--out", "nowhere", "--resume")
    assert "nothing to resume" not in again.stderr


@pytest.mark.parametrize(
    ("arguments", "env", "words"),
    [
        ((), {"AGENTGYM_CACHE": "/proc/x"}, "the cache folder /proc/x cannot be written"),
        (("--seed", str(2**64)), {}, f"expected seeds from 0 to {2**63 - 1}, got {2**64}"),
        (("--seed", str(2**63 - 2), "-k", "3"), {}, f"got {2**63 - 2} to {2**63}"),
        (("-a", "scripted:/nofile"), {}, "/nofile: cannot be read: No such file"),
    ],
)
def test_what_cannot_run_is_known_before_anything_does(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], env: dict[str, str], words: str
) -> None:
    done = cli("eval", "demo/hello", "-a", "noop", "--out", "run", *arguments, **env)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.fixture
def recorded(cli: Cli, tmp_path: Path) -> Path:
    """A run of two episodes of the oracle."""
    assert cli("eval", "demo", "-a", "oracle", "-j", "1", "-o", "run").returncode == 0
    return tmp_path / "run"


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        connection.execute(statement)
        connection.commit()


@needs_sandbox
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE episodes SET first = '{}' WHERE id = 2", "episode 2 is damaged: observation."),
        ("UPDATE episodes SET verdict = '[]' WHERE id = 2", "episode 2 is damaged: verdict: "),
        ("UPDATE meta SET value = '{}' WHERE key = 'settings'", "settings of this run"),
    ],
)
def test_a_damaged_run_is_told_in_a_line(
    cli: Cli, recorded: Path, statement: str, words: str
) -> None:
    change(recorded, statement)
    commands = [("report", "run"), ("eval", "--out", "run", "--resume")]
    if "meta" not in statement:
        commands += [("replay", "run"), ("replay", "run", "2"), ("replay", "run", "2", "--verify")]
    for command in commands:
        done = cli(*command)
        assert done.returncode == 1
        told = [line for line in done.stderr.splitlines() if line != "taking up run …"]
        assert len(told) == 1 and told[0].startswith("error: run: ") and words in told[0]


@needs_sandbox
def test_a_deleted_step_is_noticed(cli: Cli, recorded: Path) -> None:
    change(recorded, "DELETE FROM steps WHERE episode = 2 AND step = 0")
    for command in (("report", "run"), ("replay", "run", "2", "--verify")):
        done = cli(*command)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "error: run: episode 2 is damaged: step 0 is missing\n"
    assert not list(recorded.glob(".*.part"))


@needs_sandbox
def test_an_episode_that_lost_its_verdict_is_run_again(cli: Cli, recorded: Path) -> None:
    change(recorded, "UPDATE episodes SET verdict = NULL WHERE id = 2")
    assert "it is done but has no verdict" in cli("report", "run").stderr
    done = cli("eval", "--out", "run", "--resume")
    assert done.returncode == 0, done.stderr
    assert "1 of 2 episodes were done before" in done.stderr
    assert results_of(recorded)["complete"]


@needs_sandbox
@pytest.mark.parametrize("name", ["results.json", "report.html"])
def test_a_file_that_cannot_be_written_is_told_in_a_line_and_leaves_no_half_file(
    cli: Cli, recorded: Path, name: str
) -> None:
    (recorded / name).unlink()
    (recorded / name).mkdir()
    done = cli("report", "run")
    assert done.returncode == 1
    assert done.stderr == f"error: run/{name} cannot be written: Is a directory\n"
    assert not list(recorded.glob(".*.part"))


@needs_sandbox
def test_tasks_that_agree_have_no_interval_anywhere(cli: Cli, recorded: Path) -> None:
    assert results_of(recorded)["summary"]["oracle"]["mean_score_ci95"] is None
    agent, *_, interval = cli("report", "run").stdout.splitlines()[1].split()[:3]
    assert (agent, interval) == ("oracle", "–")
    page = (recorded / "report.html").read_text()
    assert "1.00 – 1.00" not in page


@needs_sandbox
@pytest.mark.sampled(4)
@pytest.mark.parametrize("end", ["ctrl-c", "int", "term", "kill"])
def test_an_ended_run_keeps_what_is_done_and_goes_on(
    cli: Cli, demo: Path, tmp_path: Path, end: str
) -> None:
    write_task(demo, "slow", solution="mkfifo /root/never; read -r _ < /root/never\n")
    arguments = ["eval", "demo/hello", "demo/slow", "-a", "oracle", "--jobs", "1", "-o", "run"]
    with subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == "reading demo/hello, demo/slow …\n"
            first = process.stderr.readline()
            assert "[1/2]" in first, "the first episode is done, the second hangs"
            if end == "ctrl-c":
                # A terminal signals the whole foreground group, sandboxes and all.
                os.killpg(process.pid, signal.SIGINT)
            else:
                process.send_signal(signal.Signals[f"SIG{end.upper()}"])
            _, words = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "Traceback" not in words
    if end == "kill":
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == (143 if end == "term" else 130)
        assert "agentgym eval --out run --resume" in words

    assert cli("report", "run").returncode == 0
    halfway = results_of(tmp_path / "run")
    assert not halfway["complete"]
    assert halfway["summary"]["oracle"]["scored"] == 1

    (demo / "tasks/demo/slow/solution/solve.sh").write_text("echo slow > /root/slow.txt\n")
    done = cli("eval", "--out", "run", "--resume")
    assert done.returncode == 0, done.stderr
    assert "1 of 2 episodes were done before" in done.stderr
    assert results_of(tmp_path / "run")["summary"]["oracle"]["mean_score"] == 1.0


@needs_sandbox
def test_a_task_folder_is_executed_again_only_where_it_is_named_again(
    cli: Cli, demo: Path, tmp_path: Path
) -> None:
    (demo / "tasks").rename(tmp_path / "elsewhere")
    hello = str(tmp_path / "elsewhere/demo/hello")
    assert cli("eval", hello, "-a", "oracle", "--out", "run").returncode == 0
    for words in (["replay", "run", "1", "--verify"], ["regrade", "run", "--force"]):
        done = cli(*words, "--task", hello)
        assert done.returncode == 0, done.stderr
    refused = cli("eval", "--out", "run", "--resume")
    assert refused.returncode == 2
    line = refused.stderr.splitlines()[-1].split()
    assert line == ["agentgym", "eval", hello, "--out", "run", "--resume"]
    assert cli(*line[1:]).returncode == 0
