"""`agentgym eval` as a user runs it, in real sandboxes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
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
@pytest.mark.parametrize("end", ["ctrl-c", "signal", "kill"])
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
            first = process.stderr.readline()
            assert "[1/2]" in first, "the first episode is done, the second hangs"
            if end == "ctrl-c":
                # A terminal signals the whole foreground group, sandboxes and all.
                os.killpg(process.pid, signal.SIGINT)
            else:
                process.send_signal(signal.SIGINT if end == "signal" else signal.SIGKILL)
            _, words = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "Traceback" not in words
    if end == "kill":
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
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
