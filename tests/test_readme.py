"""The README's code runs as it is printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
COMMANDS = [
    line.split("  #")[0].strip()
    for block in re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)
    for line in block.splitlines()
    if "openai:" not in line
]
# What takes minutes, a terminal or a Docker daemon is only asked for its help.
LONG = ("agentgym sandbox ", "agentgym bench ", "agentgym train ", "python -m ")


@pytest.mark.parametrize("code", PYTHON, ids=lambda code: code.split("\n")[0])
def test_python(code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    if "env.step" in code:
        assert done.stdout.splitlines()[-1] == "0.0 False"


@pytest.mark.slow
def test_commands_in_their_order(tmp_path, warm_command):
    for command in COMMANDS:
        # Two tasks stand for the suite: the suite itself has its own tests.
        line = command.replace("eval terminal ", "eval 'terminal/d[ao]*' ")
        program, *arguments = shlex.split(line)
        if line.startswith(LONG):
            arguments.append("--help")
        if program == "make":
            arguments.append("--dry-run")
        if program == "agentgym":
            done = warm_command.run(arguments, cwd=tmp_path, env=os.environ, timeout=250)
        else:
            done = subprocess.run(
                [{"python": sys.executable}.get(program, program), *arguments],
                cwd=ROOT if program == "make" else tmp_path,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=250,
            )
        assert done.returncode == 0, f"{line}: {done.stderr}"


def test_the_table_of_suites_has_their_numbers_of_tasks():
    told = re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", README, re.M)
    found = {suite.name: len([*suite.glob("*/task.toml")]) for suite in (ROOT / "tasks").iterdir()}
    assert {name: int(count) for name, count in told if name in found} == found
