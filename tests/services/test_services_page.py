"""docs/services.md says what is so: its service is loaded, its session run, its contract kept."""

import doctest
import re
from pathlib import Path

import pytest

from agentgym.env.environment import Environment
from agentgym.records import Action
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.services import arguments, audit, backend, image, service
from agentgym.task.load import load_task
from agentgym.testing import service_contract as contract

PROBLEMS = BubblewrapProvider().problems()
TASK = """
schema_version = "agentgym.task/1"
id = "demo/hall-v1"
title = "Meet"
difficulty = "easy"
env = "hall"
"""
RUBRIC = """
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "booked"
use = "checks.booked"
"""
CHECKS = """
def booked(evidence):
    added = [change.after["room"] for change in evidence.row_changes]
    return added == ["Birch", "Cedar"] and evidence.gold("booking") == b"1"
"""

PAGE = (Path(__file__).parents[2] / "docs" / "services.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture
def hall(tmp_path, monkeypatch):
    folder = tmp_path / "envs/hall/services/rooms"
    folder.mkdir(parents=True)
    (folder / "schema.sql").write_text(blocks("sql")[0])
    (folder / "service.py").write_text(blocks("python")[0])
    monkeypatch.chdir(tmp_path)


def test_the_session_goes_as_it_is_told(hall):
    test = doctest.DocTestParser().get_doctest(blocks("python")[1], {}, "services.md", None, 0)
    results = doctest.DocTestRunner().run(test)
    assert results.attempted > 8 and results.failed == 0


def test_the_service_keeps_the_contract(hall):
    names = {}
    exec(blocks("python")[2], names)
    suite = names["TestRooms"]()
    tests = [name for name in dir(suite) if name.startswith("test_")]
    assert len(tests) >= 10
    for name in tests:
        getattr(suite, name)()


def test_the_lines_on_serving_run():
    exec(blocks("python")[3], {})


@pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")
async def test_the_environment_goes_as_it_is_told(hall, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    (tmp_path / "envs/hall/env.toml").write_text(blocks("toml")[0])
    files = {
        "task.toml": TASK,
        "instruction.md": "Meet.",
        "setup/services.py": blocks("python")[4],
        "solution/actions.jsonl": '{"tool": "submit", "arguments": {}}\n',
        "checks/rubric.toml": RUBRIC,
        "checks/checks.py": CHECKS,
    }
    folder = tmp_path / "tasks/demo/hall"
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    provider = BubblewrapProvider()
    env = Environment(load_task(folder), provider)
    episode = await env.start(0)
    done = await episode.step(Action("run_python", {"code": blocks("python")[5]}))
    assert done.observation.text == 'Fir conflict\n[\n "Birch",\n "Cedar"\n]'
    assert (await episode.step(Action("submit"))).verdict.outcome
    await provider.close()


def test_every_status_is_the_one_that_is_sent():
    from agentgym.services.openapi import STATUS

    told = re.search(r"fitting status\s+\(([\d, ]+)\)", PAGE)[1]
    assert sorted(map(int, told.split(", "))) == sorted(STATUS.values())


@pytest.mark.parametrize("module", [arguments, audit, backend, contract, image, service])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0
