"""docs/providers.md: its example is a provider that is found, does a task, passes the contract."""

import configparser
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/providers.md").read_text()
FILES = {
    name: text
    for text, name in re.findall(r"^```(?:python|toml)\n(# (\S+)\n.*?)^```", PAGE, re.M | re.S)
}
COMMANDS = re.search(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)[1].splitlines()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder with the files of the page, installed as `pip install` would."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    metadata = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    entries = configparser.ConfigParser()
    entries.read_dict(project["entry-points"])
    with open(metadata / "entry_points.txt", "w") as file:
        entries.write(file)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return tmp_path


def run(folder, *command):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=250)


@pytest.mark.full
@pytest.mark.slow
def test_its_example_passes_the_contract(installed):
    done = run(installed, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout[-5000:]
    assert (
        re.search(r"^(\d+) passed", done.stdout, re.M)[1]
        == run(
            installed, sys.executable, "-c", "from test_contract import CHECKS; print(len(CHECKS))"
        ).stdout.strip()
    )


def test_its_example_is_found_and_does_a_task(installed):
    program = Path(sys.executable).with_name("agentgym")
    doctor, evaluate = (shlex.split(line)[1:] for line in COMMANDS)
    (line,) = [
        line
        for line in run(installed, program, *doctor).stdout.splitlines()
        if "sandbox folders" in line
    ]
    assert line.startswith("✓") and "NO ISOLATION" in line
    # One task stands for the suite.
    evaluate[evaluate.index("terminal")] = "terminal/csv-to-sqlite-v1"
    done = run(installed, program, *evaluate)
    assert done.returncode == 0, done.stderr
    results = json.loads((installed / "run/results.json").read_text())
    scores = {agent: row["mean_score"] for agent, row in results["summary"].items()}
    assert scores == {"oracle": 1.0, "noop": 0.0}
    assert not results["settings"]["isolated"]
