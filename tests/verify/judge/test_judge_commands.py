"""The judge from the command line: a run, calibration, labels."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_server import Endless, Status, says
from reader import Reader
from warm_command import WarmCommand

from agentgym import plugins

Run = Callable[..., "subprocess.CompletedProcess[str]"]
MANIFEST = """
schema_version = "agentgym.task/1"
id = "tea/{name}-v1"
title = "Make tea"
difficulty = "easy"
env = "terminal"
max_steps = 3
"""
RUBRIC = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "tone"
use = "judge.criterion"
with = { criterion = 'an exhibit says "kettle"', show = ["files:/root/*.txt"] }
"""
PLAIN = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "there"
use = "files.exists"
with = { path = "/root/t.txt" }
"""
PACK = """
schema_version = "agentgym.pack/1"
name = "tea"
version = "0.1.0"
summary = "Of the test's own"
"""
CHECKS = '''
def kettle(evidence):
    """There is a kettle."""
    return evidence.judge('an exhibit says "kettle"', ["answer"]).met == "yes"
'''
CASES = """
schema_version = "agentgym.calibration/1"
[[case]]
name = "a kettle"
use = "tea.kettle"
expect = "pass"
answer = "the kettle"
[[case]]
name = "a teapot"
use = "tea.kettle"
expect = "fail"
answer = "the teapot"
[[case]]
name = "a kettle in other words"
use = "tea.kettle"
expect = "pass"
answer = "the thing that boils water"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "catalogue"
    for name, rubric in (("judged", RUBRIC), ("plain", PLAIN)):
        folder = made / "tasks" / "tea" / name
        (folder / "solution").mkdir(parents=True)
        (folder / "checks").mkdir()
        (folder / "task.toml").write_text(MANIFEST.format(name=name))
        (folder / "instruction.md").write_text("Make tea.\n")
        (folder / "solution" / "solve.sh").write_text("echo kettle > /root/t.txt\n")
        (folder / "checks" / "rubric.toml").write_text(rubric)
    pack = made / "verifiers" / "tea"
    pack.mkdir(parents=True)
    (pack / "pack.toml").write_text(PACK)
    (pack / "checks.py").write_text(CHECKS)
    (pack / "calibration.toml").write_text(CASES)
    return made


@pytest.fixture
def cli(root: Path, tmp_path: Path, warm_command: WarmCommand) -> Run:
    def call(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        quiet = {k: v for k, v in os.environ.items() if not k.startswith("AGENTGYM_JUDGE")}
        own = {"AGENTGYM_PATH": str(root), "AGENTGYM_CACHE": str(tmp_path / "cache"), **env}
        return warm_command.run(arguments, cwd=tmp_path, env={**quiet, **own}, timeout=120)

    return call


def results(tmp_path: Path) -> Any:
    return json.loads((tmp_path / "run" / "results.json").read_text())


EVAL = ("eval", "tea/judged", "-o", "run", "-a")


def test_a_run_is_judged_and_its_results_say_by_whom(serve: Any, cli: Run, tmp_path: Path) -> None:
    server = serve(Reader())
    done = cli(*EVAL, "oracle", "-a", "noop", "--judge", "openai:reader")
    assert done.returncode == 0, done.stderr
    found = results(tmp_path)
    assert found["settings"]["judge"] == "openai:reader" and found["warnings"] == []
    (task,) = found["tasks"]
    assert {e["agent"]: (e["status"], e["score"]) for e in task["episodes"]} == {
        "oracle": ("scored", 1.0),
        "noop": ("scored", 0.0),
    }
    assert len(server.requests) == 2
    assert "Judge" in (tmp_path / "run" / "report.html").read_text()
    shown = cli("replay", "run", "1").stdout
    assert "1 exhibits show 'kettle'." in " ".join(shown.split())
    # The same world, the same question: nobody is asked again.
    again = cli("eval", "tea/judged", "-o", "again", "-a", "oracle", AGENTGYM_JUDGE="openai:reader")
    assert again.returncode == 0, again.stderr
    assert len(server.requests) == 2
    settings = json.loads((tmp_path / "again" / "results.json").read_text())["settings"]
    assert settings["judge"] == "openai:reader"


@pytest.mark.skipif(
    bool(plugins.load("agentgym.sandboxes", "bubblewrap")().problems()),
    reason="bubblewrap cannot run",
)
def test_a_check_of_a_task_is_judged(serve: Any, cli: Run) -> None:
    server = serve(Reader())
    check = ("task", "check", "tea/judged", "--seeds", "1")
    done = cli(*check, "--judge", "openai:reader")
    judged = done.stdout + done.stderr
    assert server.requests and "none is set" not in judged, judged
    assert "tea/judged-v1: oracle" not in judged
    asked = len(server.requests)
    unjudged = cli(*check)
    assert unjudged.returncode == 1 and "none is set" in unjudged.stdout
    assert len(server.requests) == asked


def test_a_run_without_its_judge_is_refused_before_it_begins(cli: Run, tmp_path: Path) -> None:
    done = cli(*EVAL, "noop")
    assert done.returncode == 2
    assert "a judge is needed by tea/judged-v1 (judge.criterion), and none is set" in done.stderr
    assert not (tmp_path / "run").exists()
    bare = cli(*EVAL, "noop", "--judge", "openai:x", OPENAI_BASE_URL="", OPENAI_API_KEY="")
    assert bare.returncode == 2 and "judge 'openai' has no endpoint" in bare.stderr
    plain = cli("eval", "tea/plain", "-o", "plain", "-a", "noop", AGENTGYM_JUDGE="openai:x")
    assert plain.returncode == 0, plain.stderr
    # Nobody was judged by it, so the run does not say that anybody was.
    held = json.loads((tmp_path / "plain" / "results.json").read_text())
    assert held["settings"]["judge"] == ""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("script", "timeout_s", "words"),
    [
        ([Status(500)], 60, "answered 500"),
        ([Endless("headers")], 0.5, "no complete reply within 0.5 s"),
        ([says(content="It is met.")], 60, "two unusable answers"),
    ],
)
def test_an_outage_leaves_the_episode_unscored(
    serve: Any, cli: Run, tmp_path: Path, script: Any, timeout_s: float, words: str
) -> None:
    serve(script)
    done = cli(*EVAL, "oracle", "--judge", f"openai:reader?retries=0&timeout_s={timeout_s}")
    assert done.returncode == 1
    (episode,) = results(tmp_path)["tasks"][0]["episodes"]
    assert (episode["status"], episode["score"]) == ("error:verifier", None)
    assert words in episode["error"]


def test_kin_are_warned_of_on_screen_and_in_the_results(
    serve: Any, cli: Run, tmp_path: Path
) -> None:
    def script(request: Any) -> Any:
        return Reader()(request) if "response_format" in request else says(content="I am done.")

    serve(script)
    done = cli(*EVAL, "openai:gpt-a?retries=0", "-a", "noop", "--judge", "openai:gpt-b")
    assert done.returncode == 0, done.stderr
    (warning,) = results(tmp_path)["warnings"]
    assert warning.startswith("judge gpt-b and agent openai:gpt-a?retries=0 are of one family, GPT")
    assert f"warning: {warning}" in done.stderr
    assert "of one family" in (tmp_path / "run" / "report.html").read_text()


def test_calibration_skips_what_needs_a_judge_and_says_so(cli: Run) -> None:
    done = cli("verifier", "calibrate", "judge", "tea")
    assert done.returncode == 0, done.stderr
    assert "skipped: judge.criterion, judge.scale, tea.kettle ask a judge" in done.stdout
    assert "AGENTGYM_JUDGE_BASE_URL" in done.stdout


def test_calibration_measures_a_judge(serve: Any, cli: Run, tmp_path: Path) -> None:
    serve(Reader())
    done = cli("verifier", "calibrate", "tea", "--json", "r.json", "--judge", "openai:reader")
    assert done.returncode == 1  # the reader knows no other words for a kettle
    assert "tea.kettle: a kettle in other words: pass is right, judged fail" in done.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    # p_o = 2/3, p_e = 1/3 * 2/3 + 2/3 * 1/3 = 4/9: kappa = (6 - 4) / (9 - 4)
    assert report["judge"]["kappa"] == pytest.approx(0.4)
    assert report["judge"]["matrix"] == [[1, 0], [1, 1]]
    assert "openai:reader: kappa 0.40" in done.stdout and "2 of 3 agree" in done.stdout
    (check,) = report["checks"]
    assert check["false_negatives"]["wrong"] == 1 and check["false_positives"]["wrong"] == 0


def test_labels_are_compared_with_what_was_recorded(serve: Any, cli: Run, tmp_path: Path) -> None:
    serve(Reader())
    agents = ("oracle", "-a", "noop", "--trials", "2")
    assert cli(*EVAL, *agents, "--judge", "openai:reader").returncode == 0
    right = {1: "pass", 2: "fail", 3: "pass", 4: "pass"}
    lines = [
        json.dumps({"run": "run", "episode": n, "checkpoint": "tone", "label": label})
        for n, label in right.items()
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(lines) + "\n\n")
    done = cli("verifier", "agreement", "labels.jsonl", "--json", "k.json")
    assert done.returncode == 0, done.stderr
    (judge,) = json.loads((tmp_path / "k.json").read_text())["judges"]
    # Episode 4 is a noop's: judged a fail, labelled a pass. p_o = 3/4, p_e = 1/2.
    assert (judge["judge"], judge["pairs"]) == ("openai:reader", 4)
    assert judge["kappa"] == pytest.approx(0.5)
    assert "openai:reader: kappa 0.50" in done.stdout
    for line, words in (
        ('{"run": "run"}', "labels.jsonl:1: episode: Field required"),
        (lines[0] + "\n" + lines[0], "labels.jsonl:2: a line before it"),
        (lines[0].replace("tone", "tune"), "has no checkpoint 'tune'; it has tone"),
    ):
        (tmp_path / "labels.jsonl").write_text(line)
        wrong = cli("verifier", "agreement", "labels.jsonl")
        assert wrong.returncode == 2 and words in wrong.stderr
