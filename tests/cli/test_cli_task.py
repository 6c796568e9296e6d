"""`agentgym task`: what it writes, how a session goes, how a check ends."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from demo_suite import COMMAND, Cli

from agentgym import plugins

PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()
needs_sandbox = pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")


def talk(cli: Cli, lines: str, folder: str) -> subprocess.CompletedProcess[str]:
    return cli("task", "try", folder, lines=lines)


# --- new -------------------------------------------------------------------------------------


@needs_sandbox
def test_a_new_task_runs_at_once_and_is_sound(cli: Cli, tmp_path: Path) -> None:
    made = cli("task", "new", "web-shop/refund", "--template")
    assert made.returncode == 0, made.stderr
    assert "agentgym task check ./tasks/web-shop/refund" in made.stdout
    assert 'id = "web-shop/refund-v1"' in (tmp_path / "tasks/web-shop/refund/task.toml").read_text()
    listed = cli("list", "tasks", "web-shop")
    assert "web-shop/refund-v1" in listed.stdout
    done = cli("task", "check", "--seeds", "2", "--json", "found.json")
    assert done.returncode == 0, done.stdout + done.stderr
    heading, row, *_ = done.stdout.splitlines()
    assert heading.split()[:3] == ["task", "schema", "oracle"]
    assert row.split()[0] == "web-shop/refund-v1"
    told = dict(zip(heading.split(), row.split(), strict=True))
    assert told.pop("excess") == told.pop("messages") == "n/a"  # it has no services
    assert set(list(told.values())[1:]) == {"ok"}
    assert "all tasks are sound" in done.stdout
    assert "[1/1] web-shop/refund-v1  sound" in done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["sound"] and found["seeds"] == 2
    properties = {f["property"]: f["soundness"] for f in found["tasks"][0]["findings"]}
    assert set(properties.values()) == {"sound", "n/a"}


@pytest.mark.parametrize("command", [["task", "check"], ["eval", "--agent", "noop"]])
@needs_sandbox
def test_checks_that_end_the_process_do_not_end_the_command(
    cli: Cli, tmp_path: Path, command: list[str]
) -> None:
    assert cli("task", "new", "web-shop/refund").returncode == 0
    checks = tmp_path / "tasks/web-shop/refund/checks/checks.py"
    checks.write_text("import sys; sys.exit(0)\n")
    done = cli(*command, "./tasks/web-shop/refund")
    assert done.returncode in (1, 2)
    assert "checks.py:1: cannot be loaded: SystemExit: 0" in done.stdout + done.stderr


def test_a_new_task_overwrites_nothing(cli: Cli, tmp_path: Path) -> None:
    assert cli("task", "new", "web-shop/refund", "--at", "else").returncode == 0
    kept = tmp_path / "else/tasks/web-shop/refund/instruction.md"
    kept.write_text("mine")
    again = cli("task", "new", "web-shop/refund", "--at", "else")
    assert again.returncode == 2
    assert "exists already" in again.stderr and kept.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["demo/hello"], "demo/hello-v1 exists already, in"),
        (["refund"], "expected suite/name in lower case"),
        (["web-shop/refund-v1"], "without a version"),
        (["web-shop/../../x"], "expected suite/name"),
        (["web-shop/refund", "--env", "terminl"], "did you mean 'terminal'?"),
    ],
)
def test_what_cannot_be_made_is_told(
    arguments: list[str], told: str, cli: Cli, tmp_path: Path
) -> None:
    done = cli("task", "new", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert not (tmp_path / "tasks").exists()


# --- check -----------------------------------------------------------------------------------


@needs_sandbox
def test_an_unsound_task_is_named_with_its_reason(cli: Cli, demo: Path) -> None:
    (demo / "tasks/demo/hello/solution/solve.sh").write_text("echo hullo > /root/hello.txt\n")
    done = cli("task", "check", "demo", "--seeds", "1")
    assert done.returncode == 1
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:3]}
    assert rows["demo/hello-v1"].count("NO") == 2  # the oracle, alone and with reads
    assert "NO" not in rows["demo/world-v1"]
    assert "demo/hello-v1: oracle" in done.stdout and "failed: word" in done.stdout
    assert "1 of 2 tasks are unsound" in done.stdout


@needs_sandbox
def test_an_environment_that_is_not_there_stops_no_other_check(
    cli: Cli, demo: Path, tmp_path: Path
) -> None:
    lost = demo / "tasks/demo/lost"
    shutil.copytree(demo / "tasks/demo/hello", lost)
    manifest = (lost / "task.toml").read_text()
    (lost / "task.toml").write_text(
        manifest.replace("demo/hello-v1", "demo/lost-v1").replace('"terminal"', '"terminl"')
    )
    done = cli("task", "check", str(lost), "--json", "found.json")
    assert done.returncode == 1, done.stderr
    assert "no environment named 'terminl'; did you mean 'terminal'? an environment" in done.stdout
    assert json.loads((tmp_path / "found.json").read_text())["sound"] is False


def test_a_folder_that_holds_no_sound_task_toml_is_told(cli: Cli, demo: Path) -> None:
    (demo / "tasks/demo/hello/task.toml").write_text("id = 3")
    done = cli("task", "check", str(demo / "tasks/demo/hello"))
    assert done.returncode == 1
    assert "schema" in done.stdout and "task.toml:1: id" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "there is no ./tasks folder here"),
        (["demo/hallo"], "did you mean 'demo/hello-v1'"),
        (["."], "found no task in it"),
        (["demo", "--sandbox", "bubblewarp"], "did you mean 'bubblewrap'"),
        (["demo", "--judge", "openia:x"], "no judge named 'openia'"),
    ],
)
def test_a_mistake_in_the_command_ends_with_two(arguments: list[str], told: str, cli: Cli) -> None:
    done = cli("task", "check", *arguments)
    assert done.returncode == 2
    assert told in done.stderr


# --- try -------------------------------------------------------------------------------------


@needs_sandbox
def test_checkpoints_light_up_as_the_state_changes(cli: Cli) -> None:
    lines = "cd /tmp; pwd\ncat > /root/hello.txt <<X\nhello\nX\n:verdict\nrm ~/hello.txt; false\n"
    done = talk(cli, lines, "demo/hello")
    assert done.returncode == 0, done.stderr
    told = done.stdout.splitlines()
    assert told[0] == "Write hello into /root/hello.txt"
    lights = [line.strip() for line in told if "score" in line and "word" in line]
    assert lights[0] == "○ word  score 0.00"
    assert lights[1] == "● word ←  score 1.00"
    assert lights[-1] == "○ word ←  score 0.00"
    assert "/tmp" in told and "[exit code 1]" in told
    assert "now: outcome true, score 1" in told
    assert told[-1] == "final verdict: outcome false, score 0"


def test_calls_light_checkpoints_up_where_there_is_no_shell(cli: Cli) -> None:
    assert cli("task", "new", "zoo/desk", "--env", "office").returncode == 0
    lines = """\
:tools tickets_cl*
tickets_clos {}
tickets_close {"ticket": 9001
tickets_get {"ticket": 9001}
tickets_close {"ticket": 9001, "resolution": "1,240.50 EUR were refunded."}
:submit Quist Pumps
"""
    done = talk(cli, lines, "./tasks/zoo/desk")
    assert done.returncode == 0, done.stderr
    assert "tickets_close ticket resolution [version]: Close a ticket" in done.stdout
    assert "did you mean 'tickets_close'" in done.stdout
    assert "tickets_close: expected arguments as JSON" in done.stdout
    assert "● closed ←  ● sum-told ←  ○ company ←" in done.stdout
    assert "final verdict: outcome true, score 1" in done.stdout


@needs_sandbox
def test_solution_reset_and_the_other_words(cli: Cli) -> None:
    words = ":help\n:solution\n:reset\n:check\n:instruction\n:quit\nls\n"
    done = talk(cli, words, "demo/hello")
    told = done.stdout
    assert ":submit [ANSWER]" in told
    assert "● word ←  score 1.00" in told
    assert told.count("Write hello into") == 3
    assert told.splitlines()[-1] == "final verdict: outcome false, score 0"
    lines = ":solution\n:submit done\nrm /root/hello.txt\n"
    submitted = talk(cli, lines, "./catalogue/tasks/demo/hello")
    assert submitted.stdout.splitlines()[-1] == "final verdict: outcome true, score 1"


@needs_sandbox
def test_a_person_at_a_terminal_can_interrupt(demo: Path, tmp_path: Path) -> None:
    shown, end = pty.openpty()
    session = subprocess.Popen(
        [*COMMAND, "task", "try", "demo/hello"],
        cwd=tmp_path,
        stdin=end,
        stdout=end,
        stderr=end,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "200"},
        start_new_session=True,
        preexec_fn=_own_terminal,
    )
    os.close(end)
    try:
        seen = _read_until(shown, b"/root$ ")
        assert b"word" in seen
        os.write(shown, b"sleep 300\n")
        time.sleep(1)
        os.write(shown, b"\x03")
        _read_until(shown, b"/root$ ")
        os.write(shown, b"echo hello > hello.txt\n")
        assert b"score 1.00" in _read_until(shown, b"/root$ ")
        os.write(shown, b"\x04")
        assert b"final verdict: outcome true, score 1" in _read_until(shown, b"score 1\r\n")
        assert session.wait(timeout=30) == 0
    finally:
        session.kill()
        session.wait()
        os.close(shown)


def test_what_cannot_be_tried_is_told(cli: Cli) -> None:
    assert "names 2 tasks" in cli("task", "try", "demo").stderr
    wrong = cli("task", "try", "demo/hallo")
    assert wrong.returncode == 2 and "did you mean 'demo/hello-v1'" in wrong.stderr


def _own_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_until(shown: int, mark: bytes) -> bytes:
    import select

    seen = b""
    until_s = time.monotonic() + 60
    while mark not in seen:
        assert select.select([shown], [], [], until_s - time.monotonic())[0], seen
        try:
            seen += os.read(shown, 4096)
        except OSError:
            break
    assert mark in seen, seen
    return seen


def test_help_names_the_three() -> None:
    done = subprocess.run(
        [*COMMAND, "task", "--help"], capture_output=True, text=True, check=True, timeout=60
    )
    assert [word for word in ("new", "try", "check") if f" {word} " not in done.stdout] == []


@needs_sandbox
def test_an_interrupted_check_ends_at_once_and_quietly(demo: Path, tmp_path: Path) -> None:
    (demo / "tasks/demo/hello/solution/solve.sh").write_text("sleep 100\n")
    check = subprocess.Popen(
        [*COMMAND, "task", "check", "demo"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert check.stderr is not None
    # One task is done, the other one waits for its solution.
    assert "demo/world-v1" in check.stderr.readline()
    check.send_signal(signal.SIGINT)
    _, told = check.communicate(timeout=60)
    assert check.returncode == 130
    assert "Traceback" not in told and "never retrieved" not in told, told
