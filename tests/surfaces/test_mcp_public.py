"""Servers that others wrote and published, under tasks of ours: played, recorded, judged."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import agentgym
from agentgym.agents.oracle import OracleAgent
from agentgym.cli.serve import serve
from agentgym.env.environment import Environment
from agentgym.env.spec import load_env_spec
from agentgym.errors import TaskError
from agentgym.manifest import load_toml
from agentgym.protocols import SurfaceContext
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Effect, SurfaceConfig
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandbox, NoSandboxProvider
from agentgym.surfaces.mcp import McpKind, Options
from agentgym.task.load import load_task
from agentgym.task.model import TaskManifest
from agentgym.testing.surface import CHECKS

SCRIPT = Path(__file__).parents[2] / "scripts" / "mcp_servers.sh"
SITE = SurfaceContext(NoSandbox())
SHELF = """
import sqlite3
shelf = sqlite3.connect("shelf.db")
shelf.execute("CREATE TABLE book (title TEXT)")
shelf.executemany("INSERT INTO book VALUES (?)", [(str(k),) for k in range(7)])
shelf.commit()
"""


@pytest.fixture(scope="session")
def programs():
    """Return where the servers' programs are; `make test` has installed them already."""
    try:
        done = subprocess.run(
            ["sh", str(SCRIPT)],
            env={**os.environ, "PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=240,
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the MCP servers of others were not installed within 240 s: " + str(SCRIPT))
    if done.returncode:
        pytest.skip(f"{SCRIPT} cannot install the MCP servers of others: {done.stderr[-300:]}")
    return Path(done.stdout.strip())


@pytest.fixture
async def opened():
    surfaces = []

    async def opened(command):
        kind = McpKind(SurfaceConfig(options={"command": command}))
        surfaces.append(await kind.attach(SITE))
        return kind, surfaces[-1]

    yield opened
    for surface in surfaces:
        await surface.close()


def shelf_of(programs):
    filled = shlex.join([sys.executable, "-c", SHELF])
    return shlex.join(
        ["sh", "-c", f"{filled} && exec {programs}/mcp-server-sqlite --db-path shelf.db"]
    )


@pytest.mark.full
async def test_a_clock(programs, opened):
    kind, surface = await opened(f"{programs}/mcp-server-time --local-timezone UTC")
    assert [tool.name for tool in kind.tools()] == ["get_current_time", "convert_time"]
    asked = {"source_timezone": "Europe/Paris", "time": "12:00", "target_timezone": "Asia/Kolkata"}
    seen = await surface.call(Action("convert_time", asked))
    # India is five and a half hours ahead of UTC, Paris one or two.
    assert json.loads(seen.text)["target"]["datetime"][11:16] in ("16:30", "15:30")
    assert seen.effect is Effect.NO_CHANGE
    wrong = await surface.call(Action("convert_time", {**asked, "target_timezone": "Nowhere"}))
    assert wrong.effect is Effect.ERROR and "Nowhere" in wrong.text


async def test_a_repository(programs, opened):
    setup = "git init -q r && echo hello > r/a && git -C r add a"
    _, surface = await opened(f"sh -c '{setup} && exec {programs}/mcp-server-git'")
    seen = await surface.call(Action("git_status", {"repo_path": "r"}))
    assert "new file:   a" in seen.text
    seen = await surface.call(Action("git_log", {"repo_path": "r", "max_count": 1}))
    assert seen.effect is Effect.ERROR, "there is no commit yet"


@pytest.mark.full
async def test_a_database_is_a_new_one_in_every_episode(programs, opened):
    _, surface = await opened(shelf_of(programs))
    count = Action("read_query", {"query": "SELECT count(*) AS n FROM book"})
    await surface.call(Action("write_query", {"query": "DELETE FROM book"}))
    assert (await surface.call(count)).text == "[{'n': 0}]"
    _, surface = await opened(shelf_of(programs))
    assert (await surface.call(count)).text == "[{'n': 7}]"
    failed = await surface.call(Action("read_query", {"query": "SELECT * FROM no_such"}))
    assert "no such table" in failed.text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_contract(programs, check):
    await check(McpKind(SurfaceConfig(options={"command": shelf_of(programs)})), SITE)


async def test_a_task_around_a_server(programs, tmp_path):
    folder = tmp_path / "shelf" / "count"
    for name, text in {
        "task.toml": 'schema_version = "agentgym.task/1"\nid = "shelf/count-v1"\ntitle = "Count"\n'
        'difficulty = "easy"\nenv = "mcp"\n\n[surface.mcp]\ncommand = '
        + json.dumps(shelf_of(programs)),
        "instruction.md": "How many books are in the table book?\n",
        "checks/rubric.toml": 'schema_version = "agentgym.rubric/1"\n[[checkpoint]]\nid = "n"\n'
        'use = "answers.exact"\nwith = { text = "7" }\n[[checkpoint]]\nid = "looked"\n'
        'use = "trajectory.calls"\nwith = { tool = "read_query", succeeded = true }\n',
        "solution/actions.jsonl": '{"tool": "read_query", "arguments": {"query": "SELECT * FROM '
        'book"}}\n{"tool": "submit", "arguments": {"answer": "7"}}\n',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    env = Environment(load_task(folder), NoSandboxProvider())
    store = RunStore.create(tmp_path / "run", {}, [EpisodePlan("shelf/count-v1", 0, 0, "oracle")])
    result = await run_episode(env, OracleAgent(), seed=0, store=store, episode_id=1)
    assert (result.verdict.score, result.steps) == (1.0, 2)
    assert "'title': '6'" in store.steps(1)[0].observation.text
    store.close()


def test_a_question_around_a_server(programs):
    env = agentgym.make(
        mcp=f"{programs}/mcp-server-time --local-timezone UTC",
        instruction="It is 12:00 in {{Paris}}. What time is it in Tokyo, in winter?",
        answer="20:00",
    )
    observation, _ = env.reset(seed=1)
    assert "{{Paris}}" in observation["text"]
    asked = {"source_timezone": "Asia/Tokyo", "time": "20:00", "target_timezone": "Asia/Tokyo"}
    action = {"tool": "convert_time", "arguments": asked}
    assert action in env.action_space
    env.step(action)
    *_, info = env.step({"tool": "submit", "arguments": {"answer": "20:00"}})
    assert info["verdict"]["score"] == 1
    env.close()


def test_the_page_says_what_is_so(programs, tmp_path, capsys):
    page = (SCRIPT.parents[1] / "docs" / "mcp.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    exec(code.replace("uvx mcp-server-time", f"{programs}/mcp-server-time"), {})
    assert capsys.readouterr().out == "1.0\n"

    (toml,) = re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "task.toml").write_text(toml.replace("uvx ", f"{programs}/"))
    manifest = load_toml(tmp_path / "task.toml", TaskManifest, TaskError)
    spec = load_env_spec(manifest.env).with_options(manifest.surface)
    (kind,) = spec.make_surface_kinds()
    assert "read_query" in [tool.name for tool in kind.tools()]

    options = set(re.findall(r"^\| (`.*?`(?:, `.*?`)*) \|", page, re.M))
    named = {name for cell in options for name in re.findall(r"`(\w+)`", cell)}
    assert named == set(Options.model_fields)
    # A flag of the commands that play a run again is told on the page, too.
    served = set(re.findall(r"`(--\w+)`", page)) - {"--task"}
    hints = get_type_hints(serve, include_extras=True).values()
    options = [hint.__metadata__[0] for hint in hints if hasattr(hint, "__metadata__")]
    assert len(served) > 3 and served <= {
        flag for o in options for flag in (o.default, *(o.param_decls or ()))
    }
