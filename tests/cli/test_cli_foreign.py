"""`agentgym eval` over a folder of foreign tasks: what cannot run does not keep the rest."""

import asyncio
import json
import time

import pytest
from built_images import keep_builds
from demo_suite import Cli
from foreign_folder import MANIFEST, harbor, reward

from agentgym.authoring.check import check_task
from agentgym.authoring.probes import PROBES, cheating
from agentgym.authoring.redteam import load_cheats
from agentgym.authoring.stage import open_stage
from agentgym.eval.requirements import build_images_of
from agentgym.task.load import load_folder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
CHECK = (
    "grep -q hello /app/hello.txt && echo 1 > /logs/verifier/reward.txt"
    " || echo 0 > /logs/verifier/reward.txt"
)
EXACT = CHECK.replace("grep -q hello /app/hello.txt", 'test "$(cat /app/hello.txt)" = hello')


@pytest.fixture(autouse=True)
def kept_images(monkeypatch):
    keep_builds(monkeypatch)


def test_a_suite_runs_as_far_as_it_can(cli: Cli, tmp_path):
    files = {
        "tests/test.sh": reward(CHECK),
        "environment/Dockerfile": "FROM debian:no-such-tag-anywhere\nWORKDIR /app\n",
    }
    good = harbor(tmp_path / "suite/good", **files)
    dockerfile = "FROM debian\nADD https://example.com/x /x\n"
    harbor(tmp_path / "suite/bad", **{**files, "environment/Dockerfile": dockerfile})
    done = cli("eval", "./suite", "-a", "oracle", "-a", "noop", "--offline", "-o", "run")
    assert done.returncode == 3, done.stderr
    assert "recipe debian for debian:no-such-tag-anywhere in 1 task" in done.stdout
    results = json.loads((tmp_path / "run/results.json").read_text())
    bad, fine = results["tasks"]
    assert fine["task"] == str(good)
    assert fine["image_fallbacks"] == {"debian:no-such-tag-anywhere": "debian"}
    scores = {episode["agent"]: episode["score"] for episode in fine["episodes"]}
    assert scores == {"oracle": 1.0, "noop": 0.0}
    assert {episode["status"] for episode in bad["episodes"]} == {"error:sandbox"}
    assert "ADD of an address is not supported" in bad["episodes"][0]["error"]
    assert results["settings"]["offline"] is True
    assert f"--verify --task {good}\n" in cli("replay", "run", "3", "--verify").stderr
    replayed = cli("replay", "run", "3", "--verify", "--task", "suite/good")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    graded = cli("grade", "run", "-e", "3", "--grader", "validity", "--task", "suite/good")
    assert graded.returncode == 0 and "regrade" not in graded.stdout + graded.stderr
    again = cli("regrade", "run", "--episode", "3", "--task", "suite/good")
    assert "verdicts: 0 replaced, 1 current" in again.stdout + again.stderr


@pytest.mark.full
def test_a_check_says_which_foreign_task_is_unsound(cli: Cli, tmp_path):
    good = harbor(tmp_path / "suite/good", **{"tests/test.sh": reward(EXACT)})
    generous = reward("echo 1 > /logs/verifier/reward.txt")
    bad = harbor(tmp_path / "suite/bad", **{"tests/test.sh": generous})
    done = cli("task", "check", str(good), str(bad), "--json", "found.json")
    assert done.returncode == 1, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())["tasks"]
    soundness = {
        task["task"]: {found["property"]: found["soundness"] for found in task["findings"]}
        for task in found
    }
    assert set(soundness[str(good)].values()) == {"sound", "n/a"}
    wrong = {name for name, what in soundness[str(bad)].items() if what == "unsound"}
    assert {"noop", "refusal", "random", "redteam"} <= wrong


@pytest.mark.full
def test_tests_that_wait_at_a_pipe_do_not_keep_a_check_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(cheating, "_TESTS_S", 1.0)
    teams = []

    def only_pipes(initial):
        found = load_cheats(initial)
        teams.extend(team for team in found if any("pipe" in cheat.name for cheat in team))
        return teams

    monkeypatch.setattr(cheating, "load_cheats", only_pipes)
    named = "Write hello into /app/hello.txt.\n"
    manifest = MANIFEST.replace("timeout_sec = 60.0", "timeout_sec = 900.0")
    files = {"tests/test.sh": reward(EXACT), "instruction.md": named, "task.toml": manifest}
    folder = harbor(tmp_path / "suite/waits", **files)
    told: list[str] = []
    build_images_of([load_folder(folder)], told.append)

    async def checked():
        stage = open_stage("bubblewrap", 4)
        try:
            probes = [probe for probe in PROBES if probe.name in ("schema", "redteam")]
            return await check_task(folder, stage, probes=probes)
        finally:
            await stage.close()

    began_s = time.monotonic()
    report = asyncio.run(checked())
    assert teams, "no cheat leaves a pipe"
    assert report.sound and report.episodes > len(teams), report
    assert time.monotonic() - began_s < 400, "the tests had the whole of their 900 s"


def test_a_foreign_task_is_tried_out_and_judged_at_the_end(cli: Cli, tmp_path):
    folder = harbor(tmp_path / "suite/good", **{"tests/test.sh": reward(EXACT)})
    lines = "cat hello.txt\n:check\necho hello > hello.txt\n"
    done = cli("task", "try", str(folder), lines=lines)
    assert done.returncode == 0, done.stderr
    assert "own tests judge it" in done.stdout
    assert "final verdict: outcome true, score 1" in done.stdout
