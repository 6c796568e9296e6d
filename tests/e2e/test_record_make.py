"""A program records with `agentgym.make(..., record=...)`, and the commands read the run."""

import json
import re
import subprocess
import sys

PROGRAM = """\
import agentgym

def bash(command):
    return {"tool": "bash", "arguments": {"command": command}}

env = agentgym.make("terminal/log-forensics-v1", record="runs/x")
env.reset(seed=3, options={"group": "g1", "metadata": {"epoch": 2}})
env.step(bash("cd /tmp && echo hello > note && cat note"))
env.step({"tool": "submit", "arguments": {"answer": "none"}})
env.reset(seed=3, options={"group": "g1"})
env.step(bash("pwd"))
# The program ends with the episode still live.
"""


def test_the_commands_read_what_a_program_has_played(cli, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    listed = cli("replay", "runs/x").stdout
    assert re.search(r"1\s+terminal/log-forensics-v1\s+gym\s+3\s+0\s+scored", listed), listed
    assert re.search(r"2\s+terminal/log-forensics-v1\s+gym\s+3\s+1\s+error:abandoned", listed)
    shown = cli("replay", "runs/x", "1").stdout
    assert "group g1" in shown and 'metadata {"epoch": 2}' in shown and "hello" in shown
    left = cli("replay", "runs/x", "2").stdout
    assert "error:abandoned  the process ended before the episode did" in left
    assert "metadata" not in left
    verified = cli("replay", "runs/x", "1", "--verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "2 steps executed again" in verified.stdout
    assert cli("replay", "runs/x", "2", "--verify").returncode == 0
    judged = cli("regrade", "runs/x", "--force")
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert "verdicts: 1 replaced" in judged.stdout
    assert cli("report", "runs/x").returncode == 0
    (task,) = json.loads((tmp_path / "runs/x/results.json").read_text())["tasks"]
    assert [one["status"] for one in task["episodes"]] == ["scored", "error:abandoned"]
    assert [one["group"] for one in task["episodes"]] == ["g1", "g1"]
    refused = cli("eval", "--out", "runs/x", "--resume")
    assert refused.returncode != 0 and "recorded by agentgym.make" in refused.stderr
