"""An environment of services alone: setup, events, milestones, faults, evidence, replay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym.env import hosting
from agentgym.env.environment import Environment
from agentgym.errors import TaskError
from agentgym.records import Action, CheckStatus, Effect
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.services import setup_context
from agentgym.task.load import load_task

TASK = """\
schema_version = "agentgym.task/1"
id = "desk/close-v1"
title = "Close a ticket"
difficulty = "easy"
env = "office"

[params]
case = { choice = [{ ticket = 1, note = "one" }, { ticket = 2, note = "two" }] }

[clock]
start = "2026-03-02T09:00:00Z"
step_s = 60
"""

EVENT = """
[[event]]
id = "renamed"
at_step = 1
run = "events/rename.py"
announce = "Somebody renamed ticket {{case.ticket}}."
"""

SETUP = """\
def change(context):
    ticket = context.params["case"]["ticket"]
    context.db.execute("UPDATE tickets_ticket SET subject = 'Set up' WHERE id = ?", ticket)
    context.gold("ticket", str(ticket))
"""

RENAME = """\
def change(context):
    ticket = context.params["case"]["ticket"]
    context.db.execute("UPDATE tickets_ticket SET subject = 'Renamed' WHERE id = ?", ticket)
"""

RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "seen"
use = "checks.seen"

[[checkpoint]]
id = "renamed"
use = "checks.renamed"
when = "every_step"
"""

CHECKS = """\
def seen(evidence):
    number = int(evidence.gold("ticket"))
    before = evidence.tables_before.one("tickets_ticket", id=number)["subject"]
    after = evidence.tables_after.one("tickets_ticket", id=number)["subject"]
    changed = [(change.table, change.key) for change in evidence.row_changes]
    actors = [entry.actor for entry in evidence.calls]
    return (before, after, changed, actors) == (
        "Set up", "Renamed", [("tickets_ticket", (number,))], ["agent", "world"]
    )


def renamed(evidence):
    return bool(evidence.tables_after.rows("tickets_ticket", subject="Renamed"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task over the office, whose files a test may replace."""
    root = tmp_path / "tasks/desk/close"
    for name, text in {
        "task.toml": TASK + EVENT,
        "instruction.md": "Look at ticket {{case.ticket}}.",
        "setup/services.py": SETUP,
        "events/rename.py": RENAME,
        "checks/rubric.toml": RUBRIC,
        "checks/checks.py": CHECKS,
        "solution/actions.jsonl": json.dumps(
            {"tool": "tickets_get", "arguments": {"ticket": "{{case.ticket}}"}}
        ),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


async def _play(env: Environment, seed: int = 0):
    episode = await env.start(seed)
    number = episode.instance.params["case"]["ticket"]
    seen = await episode.step(Action("tickets_get", {"ticket": number}))
    return seen, await episode.step(Action("submit", {}))


async def test_an_episode_without_a_sandbox(folder):
    env = Environment(load_task(folder), NoSandboxProvider())
    seen, last = await _play(env)
    assert json.loads(seen.observation.text.partition("\n[notification]")[0])["subject"] == "Set up"
    assert "[notification] Somebody renamed ticket" in seen.observation.text
    assert last.verdict is not None and last.verdict.score == 1.0, last.verdict
    assert {c.id: c.step for c in last.verdict.checkpoints} == {"seen": None, "renamed": 1}
    again = (await _play(env))[1]
    assert again.verdict == last.verdict and last.verdict.state_hash


async def test_faults_and_refusals_are_observations(folder):
    fault = '[[fault]]\nid = "down"\ntool = "tickets_get"\ncalls = [2]\nkind = "error"\n'
    (folder / "task.toml").write_text(TASK + fault)
    env = Environment(load_task(folder), NoSandboxProvider())
    episode = await env.start(0)
    there = await episode.step(Action("tickets_get", {"ticket": 1}))
    down = await episode.step(Action("tickets_get", {"ticket": 1}))
    absent = await episode.step(Action("tickets_get", {"ticket": 10**9}))
    assert [t.observation.effect for t in (there, down, absent)] == [
        Effect.NO_CHANGE,
        Effect.ERROR,
        Effect.ERROR,
    ]
    assert "temporarily unavailable" in down.observation.text
    assert absent.observation.data["error"]["code"] == "not_found"
    await env.close()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "setup/services.py",
            "def change(context):\n    context.call('tickets_gett')\n",
            "services.py:2",
        ),
        ("setup/services.py", "def chnge(desk):\n    pass\n", "expected a function change"),
        ("setup/services.py", "import nowhere\n", "cannot be loaded"),
        ("setup/services.py", "raise SystemExit(0)\n", "cannot be loaded: SystemExit: 0"),
        (
            "events/rename.py",
            "def change(context):\n    raise SystemExit\n",
            "rename.py:2: SystemExit",
        ),
        ("events/rename.py", "def change(context):\n    1 / 0\n", "rename.py:2: ZeroDivisionError"),
        (
            "setup/services.py",
            "def change(context):\n    raise type('Panic', (BaseException,), {})('oh')\n",
            "services.py:2: Panic: oh",
        ),
        (
            "setup/services.py",
            "def change(context):\n    context.gold('seen', 5)\n",
            "services.py:2: TypeError: gold 'seen': expected text or bytes, got int",
        ),
    ],
)
async def test_a_broken_script_is_named_with_its_line(folder, name, text, words):
    (folder / name).write_text(text)
    env = Environment(load_task(folder), NoSandboxProvider())
    with pytest.raises(TaskError, match=words):
        await _play(env)
    await env.close()


LOOP = "def change(context):\n    while True:\n        pass\n"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("setup/services.py", LOOP, "[23]"),
        ("setup/services.py", "while True:\n    pass\n", "[12]"),
        (
            "setup/services.py",
            "import time\n\ndef change(context):\n    try:\n        while True: time.sleep(.01)\n"
            "    except Exception:\n        pass\n",
            5,
        ),
        ("events/rename.py", LOOP, "[23]"),
    ],
)
async def test_a_script_that_does_not_end_is_ended(folder, monkeypatch, name, text, line):
    limits = replace(setup_context.SCRIPT_LIMITS, cpu_s=0.5, wall_s=0.5)
    monkeypatch.setattr(setup_context, "SCRIPT_LIMITS", limits)
    (folder / name).write_text(text)
    env = Environment(load_task(folder), NoSandboxProvider())
    with pytest.raises(TaskError, match=rf"{Path(name).name}:{line}: it does not end: it takes"):
        await _play(env)
    await env.close()
    (folder / "setup/services.py").write_text(SETUP)
    (folder / "events/rename.py").write_text(RENAME)
    env = Environment(load_task(folder), NoSandboxProvider())
    _, last = await _play(env)
    assert last.verdict is not None and last.verdict.score == 1.0
    await env.close()


@pytest.mark.timeout(60)
async def test_a_setup_that_waits_for_ever_is_left_alone(folder, monkeypatch):
    (folder / "setup/services.py").write_text(
        "import threading\n\ndef change(context):\n    threading.Lock().acquire()\n"
        "    threading.Event().wait()\n"
    )
    env = Environment(load_task(folder), NoSandboxProvider())
    with monkeypatch.context() as hurried:
        hurried.setattr(hosting, "SETUP_S", 0.5)
        for seed in range(3):
            with pytest.raises(TaskError, match=r"services\.py: it did not end within 0\.5 s"):
                await env.start(seed)
    await env.close()
    (folder / "setup/services.py").write_text(SETUP)
    env = Environment(load_task(folder), NoSandboxProvider())
    _, last = await _play(env)
    assert last.verdict is not None and last.verdict.score == 1.0
    await env.close()


@pytest.mark.timeout(60)
async def test_the_copy_of_this_process_that_a_setup_makes_ends(folder):
    (folder / "setup/services.py").write_text(
        "import os\n" + SETUP + "    child = os.fork()\n"
        "    if child:\n        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1\n"
    )
    env = Environment(load_task(folder), NoSandboxProvider())
    _, last = await _play(env)
    assert last.verdict is not None and last.verdict.score == 1.0
    await env.close()


async def test_what_the_agent_broke_is_not_the_scripts_fault(folder):
    (folder / "events/rename.py").write_text(
        "def change(context):\n    assert context.now < '2026-03-02T09:02:00Z'\n"
    )
    text = (folder / "task.toml").read_text().replace("at_step = 1", 'when = "renamed"')
    (folder / "task.toml").write_text(text)
    env = Environment(load_task(folder), NoSandboxProvider())
    episode = await env.start(0)
    number = episode.instance.params["case"]["ticket"]
    for _ in range(2):
        await episode.step(Action("tickets_get", {"ticket": number}))
    last = await episode.step(Action("submit", {}))
    assert last.verdict is not None
    assert {c.status for c in last.verdict.checkpoints} == {CheckStatus.FAIL}


def test_a_script_needs_what_the_environment_has(folder):
    (folder / "setup/setup.sh").write_text("true\n")
    with pytest.raises(TaskError, match="setup/setup.sh needs sandbox"):
        Environment(load_task(folder), NoSandboxProvider())
