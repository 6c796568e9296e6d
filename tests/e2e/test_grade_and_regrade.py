"""A run is graded, its rubric is changed, and it is judged again: the record tells all of it."""

import json
import re
import shutil
import subprocess

import pytest
from agentgym_command import PROGRAM
from small_task import RUBRIC, write_task

from agentgym.record.store import RunStore

MILESTONES = (
    RUBRIC
    + """
[[checkpoint]]
id = "early"
use = "trajectory.never_calls"
with = { tool = "bash", where = { command = "rm " } }
phase = "process"
"""
)
SCRIPT = [
    {"tool": "bash", "arguments": {"command": "echo draft > /root/word"}},
    {"tool": "bash", "arguments": {"command": "rm /root/nothing"}},
    {"tool": "bash", "arguments": {"command": "echo done"}},
    {"tool": "submit", "arguments": {}},
]
LENIENT = RUBRIC.replace("weight = 3", "weight = 1")


def results(folder):
    return [
        (episode["agent"].partition(":")[0], episode["score"], episode["verifier"])
        for task in json.loads((folder / "results.json").read_text())["tasks"]
        for episode in task["episodes"]
    ]


def test_a_changed_rubric_gives_another_verdict_and_the_old_one_stays_in_the_history(
    cli, catalogue, tmp_path
):
    task = write_task(catalogue, "hello", {"checks/rubric.toml": MILESTONES})
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, SCRIPT)))
    run = tmp_path / "run"
    done = cli("eval", "demo", "-a", "oracle", "-a", "scripted:s.jsonl", "-o", "run")
    assert done.returncode == 0, done.stderr
    (oracle, right, first), (scripted, wrong, same) = results(run)
    assert (oracle, right, scripted, wrong) == ("oracle", 1.0, "scripted", 0.25)
    assert first == same and re.fullmatch("[0-9a-f]{12}", first)

    graded = cli("grade", "run")
    assert graded.returncode == 0, graded.stderr
    assert re.search(
        r"contracts +1 +3 +1 +– +1 +broken: early: bash\(command ~ rm \)", graded.stdout
    )
    assert re.search(r"localisation +1 +0 +1 +– +1 +contract: early: .*\(exact\)", graded.stdout)

    shown = cli("replay", "run", "2").stdout
    assert "✗ contracts: broken  early: " in shown.partition("step 1")[2].partition("step 2")[0]

    current = cli("regrade", "run")
    assert current.returncode == 0, current.stderr
    assert "verdicts: 0 replaced, 2 current, 0 kept, 0 skipped" in current.stdout

    (task / "checks" / "rubric.toml").write_text(LENIENT)
    assert "the rubric is not the one of the verdict" in cli("grade", "run").stdout
    again = cli("regrade", "run")
    assert again.returncode == 0, again.stderr
    assert "verdicts: 2 replaced, 0 current, 0 kept, 0 skipped" in again.stdout
    (_, right, second), (_, other, _) = results(run)
    assert (right, other) == (1.0, 0.5)
    assert re.fullmatch("[0-9a-f]{12}", second) and second != first
    assert f"failed 0.250 [{first}] → failed 0.500 [{second}]" in again.stdout
    assert "0.500" in (run / "report.html").read_text()

    store = RunStore.open(run)
    (past,) = store.history.past_verdicts(2)
    assert (past.verdict.score, past.verdict.verifier, past.replaced_by) == (0.25, first, second)
    assert {c.id for c in past.verdict.checkpoints} == {"word", "place", "early"}
    row = store.episode(2)
    assert (row.verdict.score, row.verdict.state_hash) == (0.5, past.verdict.state_hash)
    assert {c.id for c in row.verdict.checkpoints} == {"word", "place"}
    assert {g.verifier for g in store.history.gradings(2)} == {first}
    store.close()

    shown = cli("replay", "run", "2").stdout
    earlier = shown.partition("earlier verdicts")[2]
    assert f"failed  score 0.250  verifier {first}, until 20" in earlier
    assert "judged again by another verifier" in earlier
    # What was judged anew re-executes like any other.
    assert cli("replay", "run", "2", "--verify").returncode == 0


def test_where_re_execution_diverges_the_old_verdict_stays_and_the_reason_is_told(
    cli, catalogue, tmp_path
):
    task = write_task(catalogue, "hello")
    assert cli("eval", "demo", "-a", "oracle", "-o", "run").returncode == 0
    before = results(tmp_path / "run")
    (task / "checks" / "rubric.toml").write_text(LENIENT)
    (task / "instruction.md").write_text("Write something else.\n")
    done = cli("regrade", "run", "--rerun")
    assert done.returncode == 1
    assert "episode 1  demo/hello-v1  oracle  kept" in done.stdout
    assert "re-execution diverged at first.text: was " in done.stdout
    assert results(tmp_path / "run") == before

    shutil.rmtree(task)
    gone = cli("regrade", "run")
    assert gone.returncode == 1
    assert "no task named 'demo/hello-v1'" in gone.stdout
    store = RunStore.open(tmp_path / "run")
    assert store.history.past_verdicts(1) == []
    store.close()


@pytest.mark.full
def test_a_regrade_that_is_killed_leaves_whole_verdicts_and_can_go_on(cli, catalogue, tmp_path):
    task = write_task(catalogue, "hello")
    done = cli("eval", "demo", "-a", "oracle", "-a", "noop", "-k", "5", "-o", "run")
    assert done.returncode == 0, done.stderr
    (first,) = {verifier for _, _, verifier in results(tmp_path / "run")}
    (task / "checks" / "rubric.toml").write_text(LENIENT)
    with subprocess.Popen(
        [PROGRAM, "regrade", "run", "--jobs", "1"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert "replaced" in process.stdout.readline()
        process.kill()
        process.wait(timeout=30)

    replaced = histories(tmp_path / "run", first)
    assert replaced
    again = cli("regrade", "run")
    assert again.returncode == 0, again.stderr
    left = 10 - len(replaced)
    assert f"{left} replaced, {len(replaced)} current, 0 kept, 0 skipped" in again.stdout
    assert histories(tmp_path / "run", first) == set(range(1, 11))
    (second,) = {verifier for _, _, verifier in results(tmp_path / "run")}
    assert second != first


def histories(run, first):
    """Return the episodes that were judged again, each with exactly one verdict of before."""
    store = RunStore.open(run)
    replaced = set()
    for row in store.episodes():
        past = store.history.past_verdicts(row.id)
        assert [p.verdict.verifier for p in past] == [first] * (row.verdict.verifier != first)
        assert [p.replaced_by for p in past] == [row.verdict.verifier] * len(past)
        assert {c.id for c in row.verdict.checkpoints} == {"word", "place"}
        replaced |= {row.id} if past else set()
    store.close()
    return replaced
