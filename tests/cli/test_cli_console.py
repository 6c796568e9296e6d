"""Nothing that a stranger wrote steers the terminal, whatever a command prints it with."""

import io
import json
import re
from pathlib import Path

import pytest
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import agentgym
from agentgym.cli import console as consoles
from agentgym.cli.console import ask, echo
from agentgym.eval.clean_console import CleanConsole

HOSTILE = {
    "C0": "a\x07b\x08c\x00d\re",
    "C1": "\x9b31mred\x90q\x9c",
    "OSC title": "\x1b]0;owned\x07",
    "OSC clipboard": "\x1b]52;c;ZXZpbA==\x1b\\",
    "OSC link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "clear": "\x1b[2J\x1b[H",
    "colour": "\x1b[31mred",
    "bidi": "\u202egnp.exe\u2066\u200f",
    "markup": "[link=\x1b]0;owned\x07]click[/link] [/nothing is open]\x07",
}
OBEYED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u200f\u202a-\u202e\u2066-\u2069]"
)
OWN = re.compile(r"\x1b\[(\d+(;\d+)*m|\d*[AKHJ]|\?25[lh]|1A|2K)|\r")


def table_of(text):
    table = Table(title=text)
    table.add_column(text)
    table.add_row(text, Text(text, "bold"))
    return table


RENDERABLES = {
    "string": lambda text: text,
    "text": lambda text: Text(text, "red"),
    "table": table_of,
    "panel": lambda text: Panel(table_of(text), title=Text(text)),
}


@pytest.mark.parametrize("kind", RENDERABLES)
@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("terminal", [True, False])
def test_what_a_terminal_would_obey_is_spelled_out(kind, hostile, terminal):
    shown = io.StringIO()
    console = CleanConsole(file=shown, force_terminal=terminal, width=200)
    console.print(RENDERABLES[kind](HOSTILE[hostile]), soft_wrap=kind != "panel")
    with Live(RENDERABLES[kind](HOSTILE[hostile]), console=console, transient=True):
        pass
    rest = OWN.sub("", shown.getvalue())
    assert "\x1b" not in rest and not OBEYED.search(rest)
    assert hostile == "colour" or "\\x" in rest or "\\u" in rest


@pytest.mark.parametrize("kind", RENDERABLES)
def test_colons_around_a_name_make_no_emoji(kind):
    shown = io.StringIO()
    console = CleanConsole(file=shown, width=200)
    console.print(RENDERABLES[kind]("openai:m: failed :smile:"), markup=False)
    assert "openai:m: failed :smile:" in shown.getvalue()


def test_own_colours_stay(monkeypatch):
    shown = io.StringIO()
    CleanConsole(file=shown, force_terminal=True, color_system="standard").print("x", style="red")
    assert shown.getvalue() == "\x1b[31mx\x1b[0m\n"


def test_every_console_of_the_commands_is_clean(capsys):
    assert isinstance(consoles.stdout_console(), CleanConsole)
    assert isinstance(consoles.stderr_console(), CleanConsole)
    echo("\x1b]0;owned\x07")
    assert capsys.readouterr().out == "\\x1b]0;owned\\x07\n"


def test_a_made_up_tool_and_a_defect_do_not_reach_the_terminal_raw(cli, tmp_path):
    script = tmp_path / "play\x1b]0;owned\x07.jsonl"
    name = "\x1b]0;owned\x07\x9b2J\u202e"
    script.write_text(json.dumps({"tool": name, "arguments": {}}) + "\n")
    result = cli("eval", "demo/hello-v1", "--agent", f"scripted:{script}", "--out", "run")
    assert result.stderr and "\\x1b]0;owned" in result.stderr
    for stream in (result.stdout, result.stderr):
        assert "\x1b" not in stream and not OBEYED.search(stream)
    for command in ("report", "replay"):
        again = cli(command, "run", *(["1"] if command == "replay" else []))
        assert "\x1b" not in again.stdout + again.stderr


@pytest.mark.parametrize("words", [(), ("--resume", "--out")])
def test_the_name_of_a_strangers_folder_is_spelled_out_from_the_first_line_on(cli, tmp_path, words):
    # As a shell writes it in place of ./*
    (tmp_path / (name := "./\x1b]0;owned\x07")).mkdir()
    result = cli("eval", "--agent", "noop", *words, name)
    assert "\\x1b]0;owned" in result.stderr.splitlines()[0]
    assert "\x1b" not in result.stdout + result.stderr


def test_a_prompt_is_clean(monkeypatch):
    monkeypatch.setattr("builtins.input", lambda prompt: prompt)
    assert ask("root@host:/srv/\x1b]0;owned\x07$ ") == "root@host:/srv/\\x1b]0;owned\\x07$ "


RAW = re.compile(r"\btyper\.echo\(|(?<![.\w])(input|print)\((?!\))")


def test_no_command_goes_round_the_console():
    folder = Path(consoles.__file__).parent
    version = 'typer.echo(f"agentgym {__version__}")'
    found = {
        path.name
        for path in folder.glob("*.py")
        if path.name != "console.py" and RAW.search(path.read_text().replace(version, ""))
    }
    assert not found


def test_the_progress_of_evaluate_is_clean_too(tmp_path, monkeypatch, capsys):
    own = 'schema_version = "agentgym.task/1"\n'
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.toml").write_text(f'"\\u001b]0;owned" = 1\n{own}')
    monkeypatch.chdir(tmp_path)
    agentgym.evaluate(["./one", "./two"], "noop", out="run", progress=True)
    shown = capsys.readouterr().err
    assert "owned" in shown and "\x1b" not in shown
