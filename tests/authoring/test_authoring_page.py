"""docs/authoring.md says what is so: its commands run, its tables are those of the code."""

import os
import re
import shlex
from pathlib import Path

import pytest

from agentgym import plugins
from agentgym.authoring.probes import PROBES
from agentgym.authoring.scaffold import new_task

PAGE = (Path(__file__).parents[2] / "docs" / "authoring.md").read_text()
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()


def test_every_property_is_in_the_table():
    table = PAGE.partition("| property |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\w+) \| (.*) \|$", table, re.M) == [(p.name, p.claim) for p in PROBES]


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)", PAGE):
        assert (Path(__file__).parents[2] / "docs" / target).exists(), target


def test_the_patch_it_shows_is_the_examples(tmp_path):
    folder = new_task("shop/refund", env="terminal", template=True, root=tmp_path)
    (shown,) = re.findall(r"^```diff\n(.*?)^```", PAGE, re.M | re.S)
    (written,) = (path.read_text() for path in (folder / "mutants").glob("*.patch"))
    assert shown == written


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
def test_its_commands_run_in_their_order(tmp_path, warm_command):
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    # test_quarantine runs a check with --untrusted, test_cli_mutants makes mutants.
    lines = [line for line in lines if "--untrusted" not in line and " mutants " not in line]
    assert len(lines) == 4
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "agentgym"
        done = warm_command.run(arguments, cwd=tmp_path, env=os.environ, timeout=250)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
