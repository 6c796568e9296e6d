"""What a task author is told about a broken folder, and that nothing broken counts as a zero."""

import json
import os

import pytest
from process_table import running
from remains import wait_until
from small_task import FILES, RUBRIC, TASK_TOML, write_task

TOML = TASK_TOML.format(name="hello")
OWN_CHECK = RUBRIC + '\n[[checkpoint]]\nid = "own"\nuse = "checks.word"\n'
PACK_CHECK = (
    '\n[[checkpoint]]\nid = "kind"\nuse = "files.exists"\nwith = { path = "/a", kind = "flie" }\n'
)
MALFORMED = {
    "wrong-type": (
        {"task.toml": TOML.replace("40", '"many"')},
        "hello/task.toml:6: max_steps: expected an integer, got 'many'",
    ),
    "unknown-field": (
        {"task.toml": TOML.replace("difficulty", "dificulty")},
        "hello/task.toml:4: dificulty: ",
    ),
    "bad-value": (
        {"task.toml": TOML + '\n[limits]\nmemory_mb = "much"\n'},
        "hello/task.toml:12: limits.memory_mb: expected an integer, got 'much'",
    ),
    "empty-choice": (
        {"task.toml": TOML.replace('["hello"]', "[]")},
        "hello/task.toml:9: params.word: expected at least one choice",
    ),
    "not-toml": (
        {"task.toml": TOML.replace('title = "', "title = ")},
        "hello/task.toml:3: ",
    ),
    "other-id": (
        {"task.toml": TOML.replace("demo/hello-v1", "demo/hallo-v1")},
        "hello/task.toml:2: id: expected 'demo/hello-vN' after the folder, got 'demo/hallo-v1'",
    ),
    "unknown-environment": (
        {"task.toml": TOML.replace('"terminal"', '"terminl"')},
        "no environment named 'terminl'; did you mean 'terminal'?",
    ),
    "unknown-slot": (
        {"instruction.md": "Please write\n{{wrod}} into /root/word.\n"},
        "hello/instruction.md:2: unknown slot {{wrod}}; did you mean {{word}}?",
    ),
    "no-instruction": (
        {"instruction.md": None},
        "hello/instruction.md: required, but absent",
    ),
    "no-solution": (
        {"solution/solve.sh": None},
        "hello/solution: expected one of solve.sh, actions.jsonl, policy.py, found none of them",
    ),
    "setup-without-script": (
        {"setup/data.txt": "1\n"},
        "hello/setup/setup.sh: required, but absent",
    ),
    "mistyped-folder": (
        {"mutant/lazy.sh": "# Must not pass: does nothing.\ntrue\n"},
        "hello/mutant: unknown entry; did you mean 'mutants'?",
    ),
    "mutant-that-is-no-action": (
        {"mutants/lazy.jsonl": '# Must not pass.\n{"tool": "bash"\n'},
        "hello/mutants/lazy.jsonl:2: expected an action in JSON",
    ),
    "rubric-field": (
        {"checks/rubric.toml": RUBRIC.replace("weight", "wieght")},
        "hello/checks/rubric.toml:8: checkpoint.0.wieght: ",
    ),
    "rubric-phase": (
        {"checks/rubric.toml": RUBRIC + 'phase = "outcom"\n'},
        "hello/checks/rubric.toml:15: checkpoint.1.phase: ",
    ),
    "check-is-mistyped": (
        {"checks/rubric.toml": OWN_CHECK, "checks/checks.py": "def wrod(evidence): ...\n"},
        "hello/checks/rubric.toml:18: checkpoint 'own': ",
    ),
    "check-is-no-python": (
        {"checks/rubric.toml": OWN_CHECK, "checks/checks.py": "def word(evidence)\n"},
        "hello/checks/rubric.toml:18: checkpoint 'own': ",
    ),
    "check-with-a-wrong-argument": (
        {"checks/rubric.toml": RUBRIC + PACK_CHECK},
        "hello/checks/rubric.toml:19: checkpoint 'kind': ",
    ),
    "no-rubric": (
        {"checks/rubric.toml": None},
        "hello/checks/rubric.toml: required, but absent",
    ),
}


def results_of(folder):
    return json.loads((folder / "results.json").read_text())


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize(("changes", "words"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_folder_is_told_where_and_what(cli, catalogue, cache, tmp_path, changes, words):
    write_task(catalogue, "hello", changes)
    write_task(catalogue, "sound")
    before = sorted(catalogue.rglob("*"))
    done = cli("eval", "demo", "--agent", "noop", "--out", "run")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr and "pydantic" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "run").exists() and not cache.exists()
    assert sorted(catalogue.rglob("*")) == before


def test_every_problem_of_every_task_is_told_at_once(cli, catalogue, tmp_path):
    write_task(catalogue, "one", {"task.toml": "", "instruction.md": None})
    write_task(catalogue, "two", {"checks/rubric.toml": "pass_score = 2.0\n"})
    done = cli("eval", "demo", "--agent", "noop", "--out", "run")
    assert done.returncode == 2
    for words in (
        "one/task.toml:1: schema_version: ",
        "one/task.toml:1: difficulty: ",
        "one/instruction.md: required, but absent",
        "two/checks/rubric.toml:1: pass_score: ",
    ):
        assert words in done.stderr
    assert not (tmp_path / "run").exists()


# --- broken only when it runs ----------------------------------------------------------------


def test_a_setup_that_fails_shows_its_last_lines(cli, catalogue, cache, tmp_path):
    setup = "seq 100; echo no space in the attic >&2; exit 3\n"
    write_task(catalogue, changes={"setup/setup.sh": setup})
    write_task(catalogue, "sound")
    done = cli("eval", "demo", "-a", "oracle", "-o", "run")
    assert done.returncode == 3, done.stderr
    assert "unscored: 1 × error:task" in done.stderr
    broken, sound = results_of(tmp_path / "run")["tasks"]
    (episode,) = broken["episodes"]
    assert (episode["status"], episode["outcome"], episode["score"]) == ("error:task", None, None)
    told = episode["error"].splitlines()
    assert "hello/setup/setup.sh ended with exit code 3" in told[0]
    assert told[-1] == "no space in the attic" and told[-2] == "100" and len(told) < 60
    assert sound["episodes"][0]["score"] == 1.0
    assert results_of(tmp_path / "run")["summary"]["oracle"]["mean_score"] == 1.0
    assert list((cache / "sandbox/live").iterdir()) == []


def test_a_setup_that_hangs_is_ended_at_its_timeout(cli, catalogue, cache, tmp_path):
    marker = f"78{os.getpid():07}"
    setup = f"trap '' TERM; setsid nohup sleep {marker} & echo waiting; sleep {marker}\n"
    toml = TOML + "\n[setup]\ntimeout_s = 1\n"
    write_task(catalogue, changes={"setup/setup.sh": setup, "task.toml": toml})
    done = cli("eval", "demo", "-a", "oracle", "-o", "run")
    assert done.returncode == 1
    assert "nothing could be scored: 1 × error:task" in done.stderr
    assert "did not end within 1 s (setup.timeout_s in task.toml)" in done.stderr
    assert "waiting" in done.stderr
    assert wait_until(lambda: not running(marker))
    assert list((cache / "sandbox/live").iterdir()) == []
    assert results_of(tmp_path / "run")["summary"]["oracle"]["mean_score"] is None


BROKEN_CHECKS = {
    "raises": ("def word(evidence):\n    return {}['key']\n", "KeyError: 'key' (checks.py:2)"),
    "exits": ("def word(evidence):\n    raise SystemExit(0)\n", "SystemExit"),
    "returns-nothing": ("def word(evidence):\n    pass\n", "expected a bool or a CheckResult"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("code", "words"), BROKEN_CHECKS.values(), ids=BROKEN_CHECKS)
def test_a_broken_check_leaves_the_episode_unscored(cli, catalogue, tmp_path, code, words):
    write_task(catalogue, changes={"checks/rubric.toml": OWN_CHECK, "checks/checks.py": code})
    write_task(catalogue, "sound")
    done = cli("eval", "demo", "-a", "oracle", "-a", "noop", "-o", "run")
    assert done.returncode == 3, done.stderr
    assert "unscored: 2 × error:verifier" in done.stderr
    broken, sound = results_of(tmp_path / "run")["tasks"]
    for episode in broken["episodes"]:
        assert (episode["status"], episode["outcome"], episode["score"]) == (
            "error:verifier",
            None,
            None,
        )
        assert words in episode["error"]
    assert [episode["score"] for episode in sound["episodes"]] == [1.0, 0.0]
    summary = results_of(tmp_path / "run")["summary"]
    assert (summary["oracle"]["mean_score"], summary["noop"]["mean_score"]) == (1.0, 0.0)
    assert (summary["noop"]["scored"], summary["noop"]["errors"]) == (1, 1)

    # Mended, the same run is completed.
    mended = FILES["checks/rubric.toml"]
    (catalogue / "tasks/demo/hello/checks/rubric.toml").write_text(mended)
    assert cli("eval", "--out", "run", "--resume").returncode == 0
    assert results_of(tmp_path / "run")["summary"]["oracle"]["scored"] == 2
