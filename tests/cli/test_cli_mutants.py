"""`agentgym task mutants`: what it prints and writes, and how it refuses."""

import json

import pytest
from built_images import take_image
from issue_task import write_issue

from agentgym import plugins

PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()
needs_sandbox = pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")


@needs_sandbox
def test_survivors_are_shown_and_written(cli, tmp_path):
    take_image("swe-python")
    write_issue(tmp_path)
    done = cli("task", "mutants", "demo/calc", "--json", "found.json")
    assert done.returncode == 0, done.stderr
    assert "survived: context removed in mean\n--- a/calc/sums.py\n" in done.stdout
    assert "+    if True:" in done.stdout and "operator" in done.stdout
    *_, last = done.stdout.splitlines()
    found = json.loads((tmp_path / "found.json").read_text())
    fates = [mutant["fate"] for mutant in found["mutants"]]
    assert found["schema"] == "agentgym.mutants/1" and len(fates) == found["found"]
    assert last.startswith(f"{len(fates)} of {len(fates)} mutants of demo/calc-v1, ")
    assert f"{fates.count('killed')} killed, {fates.count('survived')} survived" in last


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["terminal/git-repair"], "has no checks/issue.toml"),
        (["swe/relay-vague-report"], "has no checks/issue.toml"),
        (["swe/shelf-tag"], "shelf-tags"),
        (["swe"], "names 18 tasks"),
        (["swe/shelf-tags", "--limit", "0"], "--limit"),
        (["swe/shelf-tags", "--sandbox", "bubblewarp"], "bubblewrap"),
        (["swe/shelf-tags", "--json", "no/such/file.json"], "expected a folder at"),
    ],
)
def test_odd_words_are_refused(cli, words, told):
    done = cli("task", "mutants", *words)
    assert done.returncode != 0 and told in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
