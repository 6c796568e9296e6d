"""`agentgym replay`: what it prints and how it exits."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
import typer
from counter_world import Counter, CounterEnvironment, CounterProvider, counter_task
from typer.testing import CliRunner

from agentgym import plugins
from agentgym.cli.replay import replay as command
from agentgym.errors import ConfigError, RecordError
from agentgym.eval.printable import clean
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Audit,
    CheckpointResult,
    CheckStatus,
    Connection,
    Decision,
    Effect,
    Observation,
    Phase,
    Process,
    Step,
    Verdict,
)
from agentgym.rollout import branch, replay
from agentgym.rollout.run import run_episode

PLAN = EpisodePlan("counter/count-v1", seed=3, trial=0, agent="ones")


@pytest.fixture
def provider(monkeypatch):
    provider = CounterProvider()
    monkeypatch.setattr(replay, "find_task", lambda task_id: counter_task())
    monkeypatch.setattr(replay, "Environment", CounterEnvironment)
    monkeypatch.setattr(branch, "create", lambda spec: Counter(by=2))
    monkeypatch.setattr(plugins, "load", lambda group, name: {"counter": lambda: provider}[name])
    return provider


@pytest.fixture
def folder(tmp_path, provider):
    store = RunStore.create(tmp_path / "run", {}, [PLAN, PLAN])
    env = CounterEnvironment(counter_task(), provider)
    asyncio.run(run_episode(env, Counter(), seed=3, store=store, episode_id=1))
    store.close()
    return str(tmp_path / "run")


def invoke(*arguments):
    app = typer.Typer()
    app.command()(command)
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def test_without_an_episode_all_are_listed(folder):
    code, out = invoke(folder)
    lines = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()]
    assert code == 0
    assert lines == [
        ["id", "task", "agent", "seed", "trial", "status", "score", "steps"],
        ["1", "counter/count-v1", "ones", "3", "0", "scored", "1.000", "5"],
        ["2", "counter/count-v1", "ones", "3", "0", "planned", "–", "0"],
    ]


def test_an_episode_is_shown_from_its_instruction_to_its_verdict(folder):
    code, out = invoke(folder, "1")
    assert code == 0
    shown = [
        *("Count to 4.", "step 0  changed", "so far so good", "add n=1", "it is 1 (pid 41)"),
        *("step 4  no_change", "submit", "handed in", "passed  score 1.000", "✓ n  1.00 × 1"),
    ]
    places = [out.index(words) for words in shown]
    assert places == sorted(places)


def test_an_episode_that_is_not_over_says_so(folder):
    assert "no verdict: the episode is planned" in invoke(folder, "2")[1]


def record(folder, text, verdict, audit=None):
    store = RunStore.open(Path(folder), readonly=False)
    recorder = store.begin(
        2, params={}, instruction="Do it.", sandbox="counter", reset_s=0.0, first=Observation("")
    )
    decision = Decision(Action("bash", {"command": "cat big\nls"}), thought="let me see")
    recorder.step(Step(0, decision, Observation(text, None, {"exit_code": 3}, Effect.CHANGED)))
    recorder.finish(verdict, duration_s=1.0, audit=audit)
    store.close()


TREE = Verdict(
    "scored",
    outcome=False,
    score=0.25,
    safety_violations=("leak",),
    checkpoints=(
        CheckpointResult("rows", Phase.OUTCOME, CheckStatus.PASS, 1.0, 1.0, "3 rows", depth=1),
        CheckpointResult("sum", Phase.OUTCOME, CheckStatus.FAIL, 0.0, 1.0, "was 4", depth=1),
        CheckpointResult("ledger", Phase.OUTCOME, CheckStatus.FAIL, 0.5, 1.0, depth=0),
    ),
)


def test_long_output_is_folded_and_full_shows_it_all(folder):
    record(folder, "\n".join(f"line {n}" for n in range(40)) + "\n" + "y" * 900, TREE)
    code, out = invoke(folder, "2")
    assert code == 0
    assert "$ cat big\nls\n" in out
    assert "step 0  changed  exit 3" in out
    assert "line 11\n… 29 more lines, shown by --full\n" in out
    assert "line 12" not in out
    full = invoke(folder, "2", "--full")[1]
    assert "line 39\n" + "y" * 900 in full
    assert "more" not in full


def test_checkpoints_are_shown_as_a_tree(folder):
    record(folder, "", TREE)
    out = invoke(folder, "2")[1]
    assert "failed  score 0.250" in out
    assert "safety violation: leak" in out
    assert "✗ ledger  0.50 × 1\n  ✓ rows  1.00 × 1  3 rows\n  ✗ sum  0.00 × 1  was 4\n" in out


def test_the_audit_stands_at_the_end(folder):
    audit = Audit(
        (Process(41, ("sleep", "1 h")), Process(7, ("x", "\x1b[31m\nkilled"))),
        (
            Connection("pypi.org", 443, "connect", "open", 517, 4096),
            Connection("evil.test", 80, "http", "refused: not in allow\nok"),
        ),
        killed_for_memory=3,
    )
    record(folder, "", TREE, audit)
    assert invoke(folder, "2")[1].endswith(
        "connections\n"
        "pypi.org:443  open  517 bytes sent, 4096 received\n"
        "evil.test:80  refused: not in allow\\nok  0 bytes sent, 0 received\n"
        "\nprocesses still alive\n"
        "41  sleep '1 h'\n"
        "7  x '\\nkilled'\n"
        "\nkilled for memory: 3\n"
    )


def test_an_audit_without_anything_to_tell_is_not_shown(folder):
    record(folder, "", TREE, Audit(killed_for_memory=0))
    assert invoke(folder, "2")[1].endswith("✗ sum  0.00 × 1  was 4\n")


def test_a_record_cannot_write_to_the_terminal(folder):
    record(folder, "\x1b[31mred\x1b[0m \x1b]0;title\x07 \ud800 [bold]plain[/bold]\r\n", TREE)
    out = invoke(folder, "2")[1]
    assert r"red \x1b]0;title\x07 \ud800 [bold]plain[/bold]\r" in out
    assert "\x1b" not in out


def test_cleaning_keeps_what_people_write():
    assert clean("naïve\ttab\nline 😀 – ok") == "naïve\ttab\nline 😀 – ok"


def test_verify_says_that_all_agrees(folder, provider):
    code, out = invoke(folder, "1", "--verify")
    assert code == 0
    assert "5 steps executed again, all observations agree, so do the state and the score" in out
    assert provider.closed


def test_verify_exits_with_1_and_shows_the_divergence(folder, provider):
    provider.drift[2] = 5
    code, out = invoke(folder, "1", "--verify")
    assert code == 1
    assert "episode 1 diverged at step 2: text was 'it is 3" in out
    assert "is now 'it is 8" in out


def test_a_branch_shows_its_steps_and_names_its_episode(folder, provider):
    code, out = invoke(folder, "1", "--branch", "2", "--agent", "twos")
    assert code == 0
    assert "step 2" in out
    assert "add n=2" in out
    assert "step 1 " not in out
    assert f"episode 3, branched off 1 at step 2:  agentgym replay {folder} 3" in out
    assert "twos (branch of 1 at 2)" in invoke(folder)[1]
    assert provider.closed


def test_a_branch_ends_when_its_agent_s_time_is_up(folder, provider, monkeypatch):
    class Sleepy(Counter):
        async def act(self, observation, tools, history):
            await asyncio.Event().wait()

    monkeypatch.setattr(branch, "create", lambda spec: Sleepy())
    code, out = invoke(folder, "1", "--branch", "2", "--agent", "sleepy", "--timeout", "0.1")
    assert code == 0
    assert "truncated after 2 steps: the agent had 0.1 s" in out


@pytest.mark.parametrize(
    "options",
    [
        ["--verify"],
        ["--branch", "1", "--agent", "a"],
        ["1", "--branch", "1"],
        ["1", "--agent", "a"],
        ["1", "--verify", "--branch", "1", "--agent", "a"],
        ["1", "--timeout", "5"],
        ["1", "--verify", "--timeout", "5"],
    ],
)
def test_options_that_do_not_go_together_are_refused(folder, options):
    with pytest.raises(ConfigError):
        invoke(folder, *options)


def test_an_unknown_episode_is_answered_with_the_known_ones(folder, tmp_path):
    with pytest.raises(RecordError, match="has no episode 9; its episodes are 1 to 2"):
        invoke(folder, "9")
    with pytest.raises(RecordError, match="is not a run folder"):
        invoke(str(tmp_path / "absent"))


def test_many_branches_are_listed_and_say_how_they_began(folder, provider):
    code, out = invoke(folder, "1", "--branch", "2", "-a", "twos", "-k", "3", "--jobs", "2")
    assert code == 0
    assert out.count("twos (fork of 1 at 2)") == 3
    assert "3 branches off episode 1 at step 2: forks of one re-execution" in out
    assert invoke(folder)[1].count("(fork of 1 at 2)") == 3


@pytest.mark.parametrize("option", ["--trials", "--jobs"])
def test_options_of_branches_need_a_branch(folder, provider, option):
    with pytest.raises(ConfigError, match=f"{option} is for the agent of a branch"):
        invoke(folder, "1", option, "2")
