"""`agentgym eval` over a folder of foreign tasks: what cannot run does not keep the rest."""

import json
import os
import shutil

import pytest
from demo_suite import Cli
from foreign_folder import harbor, reward

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
CHECK = (
    "grep -q hello /app/hello.txt && echo 1 > /logs/verifier/reward.txt"
    " || echo 0 > /logs/verifier/reward.txt"
)


@pytest.fixture(autouse=True)
def kept_images(monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("debootstrap needs root")
    if shutil.which("debootstrap", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip("debootstrap is not installed (apt-get install debootstrap)")
    kept = os.environ.get("AGENTGYM_TEST_CACHE", "/var/cache/agentgym-test")
    monkeypatch.setenv("AGENTGYM_CACHE", kept)


def test_a_suite_runs_as_far_as_it_can(cli: Cli, tmp_path):
    files = {
        "tests/test.sh": reward(CHECK),
        "environment/Dockerfile": "FROM debian:no-such-tag-anywhere\nWORKDIR /app\n",
    }
    good = harbor(tmp_path / "suite/good", **files)
    dockerfile = "FROM debian\nADD https://example.com/x /x\n"
    harbor(tmp_path / "suite/bad", **{**files, "environment/Dockerfile": dockerfile})
    done = cli("eval", "./suite", "-a", "oracle", "-a", "noop", "--offline", "-o", "run")
    assert done.returncode == 0, done.stderr
    assert "recipe debian for debian:no-such-tag-anywhere in 1 task" in done.stdout
    results = json.loads((tmp_path / "run/results.json").read_text())
    bad, fine = results["tasks"]
    assert fine["task"] == str(good)
    assert fine["stand_ins"] == {"debian:no-such-tag-anywhere": "debian"}
    scores = {episode["agent"]: episode["score"] for episode in fine["episodes"]}
    assert scores == {"oracle": 1.0, "noop": 0.0}
    assert {episode["status"] for episode in bad["episodes"]} == {"error:sandbox"}
    assert "ADD of an address is not supported" in bad["episodes"][0]["error"]
    assert results["settings"]["offline"] is True
    replayed = cli("replay", "run", "3", "--verify")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr


def test_a_check_says_which_foreign_task_is_unsound(cli: Cli, tmp_path):
    exact = CHECK.replace("grep -q hello /app/hello.txt", 'test "$(cat /app/hello.txt)" = hello')
    good = harbor(tmp_path / "suite/good", **{"tests/test.sh": reward(exact)})
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
