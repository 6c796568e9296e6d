"""Help, listings, and what a user is told who typed something wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from demo_suite import COMMAND, Cli, write_task
from typer.testing import CliRunner

from agentgym import __version__
from agentgym.cli.app import app
from agentgym.cli.list import _number
from agentgym.errors import NotFoundError

COMMANDS = ["list", "eval", "replay", "report", "doctor", "bench"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert f"Example:  agentgym {command}" in result.output


def test_help_names_every_command() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert all(command in result.output for command in COMMANDS)


def test_defaults_survive_the_markup_of_the_help() -> None:
    result = CliRunner().invoke(app, ["eval", "--help"], env={"COLUMNS": "200"})
    for words in ("Default: bubblewrap", "Default: the task's", "Default: runs/TIME-SUITE"):
        assert words in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_of_the_help_is_lost_to_its_markup(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "300"}).output
    words = " ".join(shown.replace("│", " ").split())
    for parameter in typer.main.get_command(app).commands[command].params:
        assert " ".join(getattr(parameter, "help", "").split()) in words


def test_help_imports_no_command() -> None:
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from agentgym.cli.app import app\n"
        "assert CliRunner().invoke(app, ['eval', '--help']).exit_code == 0\n"
        "print([m for m in ('jinja2', 'openai', 'agentgym.eval', 'agentgym.rollout') "
        "if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_version_is_the_packages() -> None:
    assert CliRunner().invoke(app, ["--version"]).output.strip() == f"agentgym {__version__}"


def test_the_package_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "agentgym", "--version"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout == f"agentgym {__version__}\n"


def test_a_mistyped_command_offers_the_close_one(cli: Cli) -> None:
    done = cli("evl")
    assert done.returncode == 2
    assert "Did you mean 'eval'?" in done.stderr


def test_tasks_are_listed_whole_even_where_nobody_looks(cli: Cli) -> None:
    done = cli("list", "tasks", "demo")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[1] == ["demo/hello-v1", "easy", "1", "Write", "hello"]
    assert rows[2] == ["demo/world-v1", "easy", "1", "Write", "world"]
    assert "\x1b" not in done.stdout


def test_suites_are_listed_with_the_number_of_their_tasks(cli: Cli) -> None:
    rows = [line.split() for line in cli("list", "suites").stdout.splitlines()]
    assert ["name", "tasks"] in rows and ["demo", "2"] in rows and ["terminal", "30"] in rows


def test_a_broken_task_is_listed_as_broken(cli: Cli, demo: Path) -> None:
    (demo / "tasks/demo/hello/task.toml").write_text('id = "demo/hello-v1"\n')
    done = cli("list", "tasks", "demo/*")
    assert done.returncode == 0
    assert "demo/hello-v1" in done.stdout and "broken" in done.stdout
    assert "Write world" in done.stdout


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("agents", "oracle"),
        ("surfaces", "shell"),
        ("sandboxes", "bubblewrap"),
        ("envs", "terminal"),
        ("verifiers", "files"),
    ],
)
def test_each_kind_lists_what_is_bundled(demo: Path, kind: str, expected: str) -> None:
    result = CliRunner().invoke(app, ["list", kind])
    assert result.exit_code == 0
    assert expected in [line.split()[0] for line in result.output.splitlines()[1:]]


def test_an_unknown_kind_offers_the_close_one(demo: Path) -> None:
    result = CliRunner().invoke(app, ["list", "agent"])
    assert isinstance(result.exception, NotFoundError)
    assert "did you mean 'agents'?" in str(result.exception)


def test_an_error_is_one_line_and_no_traceback(cli: Cli) -> None:
    done = cli("list", "tasks", "demo/helo")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: no task named 'demo/helo'; did you mean 'demo/hello-v1'")
    assert len(done.stderr.splitlines()) == 1


def test_a_path_that_the_system_refuses_is_an_error_in_one_line(cli: Cli) -> None:
    done = cli("eval", "n" * 5_000, "--agent", "noop")
    assert (done.returncode, done.stdout) == (1, "")
    said = done.stderr.splitlines()[-1]
    assert said.startswith("error: 'runs/") and said.endswith(": File name too long")
    assert len(said) < 400 and "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this machine has no /dev/full")
def test_a_full_disk_is_an_error_in_one_line(cli: Cli, tmp_path: Path) -> None:
    agents = ("--agent", "noop", "--agent", "oracle")
    assert cli("eval", "demo/hello", *agents, "--out", str(tmp_path / "run")).returncode == 0
    done = cli("compare", str(tmp_path / "run"), "--json", "/dev/full")
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


def test_a_mistyped_bench_is_answered_with_those_there_are(cli: Cli) -> None:
    done = cli("bench", "foo")
    assert (done.returncode, done.stdout) == (2, "")
    names = "sandbox, pool, verify, tools, rl, cost, swe, web, desktop, cluster"
    assert done.stderr == f"error: no bench named 'foo'; there is: {names}\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "plain",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_a_terminal_without_unicode_gets_a_plain_sign_for_each(
    cli: Cli, demo: Path, plain: dict[str, str]
) -> None:
    write_task(demo, "needy", needs='["no-such-command-xyz"]')
    done = cli("doctor", **plain)
    assert "Traceback" not in done.stderr
    assert "x command no-such-command-xyz" in done.stdout
    assert done.stdout.isascii()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("list", "tasks", "demo"), 0, "demo/hello-v1"),
        (("doctor",), None, "command no-such-command-xyz"),
        (("eval", "demo/broken", "-a", "noop"), 2, "demo/broken/task.toml"),
        (("eval", "demo/hello", "-a", "noop"), 1, "a run cannot be created here"),
    ],
)
def test_a_deleted_working_directory_is_no_obstacle(
    demo: Path, tmp_path: Path, arguments: tuple[str, ...], code: int | None, words: str
) -> None:
    write_task(demo, "needy", needs='["no-such-command-xyz"]')
    (write_task(demo, "broken") / "task.toml").write_text('id = "demo/broken-v1"\n')
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        [
            "sh",
            "-c",
            'cd "$1" && rmdir "$1" && shift && exec "$@"',
            "-",
            gone,
            *COMMAND,
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert words in done.stdout + done.stderr
    assert code is None or done.returncode == code


def test_debug_shows_the_traceback(cli: Cli) -> None:
    done = cli("list", "tasks", "demo/helo", AGENTGYM_DEBUG="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr


@pytest.mark.parametrize("arguments", [["list", "tasks", "demo"], ["--version"], ["--help"]])
def test_a_reader_that_has_gone_is_no_error(demo: Path, arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*COMMAND, *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 1


def test_doctor_finds_what_tasks_need_and_how_to_get_it(cli: Cli, demo: Path) -> None:
    write_task(demo, "needy", needs='["no-such-command-xyz", "bash"]')
    done = cli("doctor")
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if "command no-such-command-xyz" in line)
    assert "needed by demo/needy-v1" in lines[at]
    assert "apt-get install no-such-command-xyz" in lines[at + 1]
    assert not any("command bash" in line for line in lines)
    working = any(line.startswith("✓ sandbox bubblewrap") for line in lines)
    assert done.returncode == (0 if working else 1)
    assert "\x1b" not in done.stdout


def test_a_report_of_nothing_is_an_error(cli: Cli, tmp_path: Path) -> None:
    done = cli("report", str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert not (tmp_path / "nowhere").exists()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("count", "told"),
    [(1, "1"), (10**15 - 1, "999,999,999,999,999"), (2**21_200, "10^6381")],
    ids=["one", "large", "huge"],
)
def test_a_number_of_instances_is_told_however_large(count, told):
    assert _number(count) == told
