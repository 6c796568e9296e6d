"""Agents and scripts of a user's own, from the command line and from Python."""

import asyncio
import json
import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from small_task import write_task

import agentgym
from agentgym.errors import ConfigError

FILE = """\
import time

class Solves:
    def act(self, observation, tools, history):
        if history:
            return {"tool": "submit", "arguments": {}}
        return {"tool": "bash", "arguments": {"command": "echo hello > /root/word"}}

class Breaks(Solves):
    def act(self, observation, tools, history):
        if not history:
            return super().act(observation, tools, history)
        from agentgym.errors import SandboxError
        raise SandboxError("not my fault")

class Sleeps:
    def act(self, observation, tools, history):
        time.sleep(600)
"""
ANSWERS = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "answer"
title = "The answer is right"
use = "checks.answer"

[[checkpoint]]
id = "tidy"
title = "Nothing else was changed"
use = "files.only_changed"
with = { paths = [] }
gate = true
"""
CHECK = "def answer(evidence):\n    return evidence.answer == 'forty two'\n"


@pytest.fixture
def mine(catalogue, tmp_path):
    write_task(catalogue)
    (tmp_path / "mine.py").write_text(FILE)


def test_agents_of_a_file_are_scored_and_their_tracebacks_kept(cli, mine, tmp_path):
    agents = [f"./mine.py:{name}" for name in ("Solves", "Breaks", "Sleeps")]
    done = cli(
        *("eval", "demo", "--jobs", 3, "--timeout", 3, "--out", "run"),
        *(part for agent in agents for part in ("--agent", agent)),
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "run/results.json").read_text())
    summary = results["summary"]
    assert [summary[agent]["mean_score"] for agent in agents] == [1.0, 1.0, 0.0]
    assert [summary[agent]["policy_failures"] for agent in agents] == [0, 1, 0]
    episodes = {e["agent"]: e for e in results["tasks"][0]["episodes"]}
    assert episodes[agents[1]]["error"] == "SandboxError: not my fault"
    shown = cli("replay", "run", episodes[agents[1]]["id"], "--full").stdout
    assert 'mine.py", line 14, in act' in shown and "SandboxError: not my fault" in shown
    told = cli("replay", "run", episodes[agents[2]]["id"]).stdout
    assert "truncated after 0 steps: the agent had 3 s" in told


def test_evaluate_returns_records_in_a_loop_and_outside(mine, tmp_path, monkeypatch, capfd):
    class Submits:
        def act(self, observation, tools, history):
            return agentgym.Action("submit")

    monkeypatch.chdir(tmp_path)
    outside = agentgym.evaluate("demo", Submits, trials=2, out=tmp_path / "one")
    assert outside.mean_score == 0.0 and outside.scores.mean_score_bounds == (0.0, 0.0)
    assert [(e.task, e.seed, e.trial, e.status) for e in outside.episodes] == [
        ("demo/hello-v1", 0, 0, "scored"),
        ("demo/hello-v1", 1, 1, "scored"),
    ]
    assert outside.scores.agent.endswith("Submits") and outside.scores.errors == {}
    with pytest.raises(FrozenInstanceError):
        outside.episodes[0].score = 1.0

    async def inside():
        return agentgym.evaluate(["demo"], ["oracle", "./mine.py:Breaks"], out="two")

    two = asyncio.run(inside())
    assert {row.agent: row.mean_score for row in two.agents} == {
        "oracle": 1.0,
        "./mine.py:Breaks": 1.0,
    }
    assert [e.error for e in two.episodes] == ["", "SandboxError: not my fault"]
    assert (tmp_path / "two/report.html").exists()
    with pytest.raises(ConfigError, match="there are 2 agents"):
        _ = two.mean_score
    assert capfd.readouterr() == ("", ""), "nothing is shown unless it is asked for"


def test_the_page_s_evaluation_runs(mine, tmp_path, monkeypatch, capsys):
    page = (Path(agentgym.__file__).parents[1] / "docs/agents.md").read_text()
    (code,) = re.findall(r"```python\n(import agentgym\n\nevaluation.*?)```", page, re.S)
    monkeypatch.chdir(tmp_path)
    exec(code.replace("terminal/git-repair-v1", "demo"), {})
    assert capsys.readouterr().out.splitlines() == [
        "1.0 (1.0, 1.0)",
        "demo/hello-v1 0 1.0 ",
        "demo/hello-v1 1 1.0 ",
    ]


def test_evaluate_says_what_is_wrong_before_anything_runs(mine, tmp_path):
    for agent, told in (
        (object(), "it is an object of object"),
        ("./none.py:X", "no file"),
        ([], "no agent"),
    ):
        with pytest.raises(ConfigError, match=told):
            agentgym.evaluate("demo", agent, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_new_agent_runs_as_it_is(cli, mine, tmp_path):
    done = cli("agent", "new", "my_agent")
    assert done.returncode == 0, done.stderr
    assert "--agent ./my_agent.py:MyAgent" in done.stdout
    done = cli("eval", "demo", "-a", "./my_agent.py:MyAgent", "-o", "run")
    assert done.returncode == 0, done.stderr
    again = cli("agent", "new", "my_agent")
    assert again.returncode == 2 and "my_agent.py already exists" in again.stderr


def test_a_script_submits_the_answer_that_it_wrote(cli, catalogue, tmp_path):
    solve = 'set -e\necho forty two > "$AGENTGYM_ANSWER"\nexit 0\n'
    own = {"solution/solve.sh": solve, "checks/rubric.toml": ANSWERS, "checks/checks.py": CHECK}
    write_task(catalogue, changes=own)
    (tmp_path / "other.sh").write_text("true $AGENTGYM_ANSWER\n")
    done = cli("eval", "demo", "-a", "oracle", "-a", "scripted:other.sh", "-o", "run")
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "run/results.json").read_text())["summary"]
    assert summary["oracle"]["mean_score"] == 1.0
    assert summary["scripted:other.sh"]["mean_score"] < 1.0
    assert "submit" in cli("replay", "run", 1).stdout
