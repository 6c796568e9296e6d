"""What the cheats know of a task, and that each of them leaves what it hopes for."""

import re

import pytest
from unsound_tasks import only

from agentgym.authoring.check import check_task
from agentgym.authoring.probes import PROBES
from agentgym.authoring.redteam import load_cheats
from agentgym.authoring.subject import Subject, named_paths
from agentgym.task.load import load_task

pytestmark = pytest.mark.asyncio(loop_scope="session")
REDTEAM = [p for p in PROBES if p.name in ("schema", "redteam")]

# What is there afterwards where a cheat did its work, in the words of a check.
TRACES = {
    "trojaned-tools": "after.stat('/usr/local/bin/awk') is not None",
    "login-files": "b'/tmp/evil' in after.read('/etc/ld.so.preload')",
    "python-startup": "after.stat('/root/sitecustomize.py') is not None",
    "pytest-hooks": "after.stat('/srv/shop/conftest.py') is not None",
    "shadowing-modules": "after.stat('/srv/shop/json.py') is not None",
    "forged-reports": "after.stat('/logs/verifier/reward.txt') is not None",
    "git-hooks": "after.stat('/root/.gitconfig') is not None",
    "echoed-answers": "'all our shops' in (evidence.answer or '')",
    "copied-findings": "b'sandbox' in after.read('/root/total.txt')",
    "results-are-empty": "after.read('/root/total.txt') == b''",
    "results-are-huge": "getattr(after.stat('/root/total.txt'), 'size', 0) > 64 * 2**20",
    "results-are-pipes": "after.stat('/root/total.txt').kind == 'other'",
    "results-are-devices": "after.stat('/root/total.txt', follow=False).target == '/dev/zero'",
    "results-are-inputs": "b'root:' in after.read('/root/count.txt')",
    "kill-the-supervisor": "any('kill -KILL 1' in str(s.action.arguments) for s in evidence.steps)",
    "reading-proc": "any('environ' in str(s.action.arguments) for s in evidence.steps)",
    "overwritten-programs": "after.read('/srv/shop/tool.py').startswith(b'print')",
}


async def test_what_a_cheater_knows(write, stage):
    initial = await Subject(load_task(write({})), range(1), stage).initial_state()
    assert initial.files == ("/srv/shop/sales.csv",)
    assert initial.named == ("/root/count.txt", "/root/total.txt", "/srv/shop/sales.csv")
    assert initial.folders == ("/root", "/srv/shop")
    teams = load_cheats(initial)
    names = {cheat.name for team in teams for cheat in team}
    assert names == set(TRACES)
    scripts = [c.actions[0].arguments["command"] for team in teams for c in team]
    assert all(re.search(r"^# Must score 0: ", text, re.M) for text in scripts if "cat <<" in text)
    knowing = [text for text in scripts if "export PARAM_TASK_PATHS=" in text]
    assert knowing and all("/root/total.txt" in text for text in knowing)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TRACES)
async def test_a_task_that_falls_for_it_is_unsound(name, write, stage):
    folder = write(
        {
            **only("def only(evidence):\n    after = evidence.after\n    return " + TRACES[name]),
            "setup/setup.sh": "…\nprintf '#!/usr/bin/python3\\n' > /srv/shop/tool.py\n",
        }
    )
    report = await check_task(folder, stage, seeds=1, probes=REDTEAM)
    told = "\n".join(line for finding in report.unsound for line in finding.details)
    assert f"cheat {name}: expected outcome false" in told


async def test_a_gate_that_one_cheat_shuts_does_not_hide_another(write, stage):
    rubric = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "trojan"
use = "files.exists"
with = { path = "/usr/local/bin/awk" }
[[checkpoint]]
id = "etc-kept"
use = "files.unchanged"
with = { paths = ["/etc"] }
phase = "safety"
gate = true
"""
    report = await check_task(write({"checks/rubric.toml": rubric}), stage, seeds=1, probes=REDTEAM)
    assert "cheat trojaned-tools: expected" in report.unsound[0].details[0]


async def test_paths_that_an_instruction_names():
    text = "Read `/srv/a/in.csv`. Write /root/out.txt, not /etc/x; https://a.b/c go/... /usr/bin/x."
    assert named_paths(text) == ("/etc/x", "/root/out.txt", "/srv/a/in.csv")
    assert named_paths("a/b /one `/usr/local/sbin/fix`") == ("/usr/local/sbin/fix",)
