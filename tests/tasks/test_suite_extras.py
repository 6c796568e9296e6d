"""The suites of a make goal need no package that `scripts/setup.sh` does not install for it."""

import re
import subprocess
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SETUP = Path(__file__).parents[2] / "scripts" / "setup.sh"
SUITES = {
    "demo": ("terminal", "tools"),
    "web": ("web", "miniwob"),
    "swe": ("swe",),
    "desktop": ("desktop",),
}

# Reads each task as `eval` does: the surfaces of its environment, and its checks with arguments.
_READ = """
import importlib.abc, sys

suites, refused = sys.argv[1].split(","), set(sys.argv[2].split(","))

class Refusing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())

from agentgym import catalogue
from agentgym.env.spec import load_env_spec
from agentgym.task.load import find_task
from agentgym.verify.checking import bind_checks

tasks = [find_task(name) for suite in suites for name in catalogue.match_tasks(suite)]
for task in tasks:
    load_env_spec(task.manifest.env).make_surface_kinds()
    bind_checks(task.instance(0))
print(len(tasks))
"""


def installed_for(goal):
    """Return the names of the distributions that the goal installs, and what they require."""
    lines = SETUP.read_text(encoding="utf-8")
    extras = set(re.findall(rf'"\$goal" != {goal} \].*,\}}([\w-]+)"', lines))
    waiting, seen = [("agentgym-suite", frozenset(extras))], set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        for line in requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in wanted or {""}
            ):
                waiting.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    return {name for name, _ in seen}


@pytest.mark.parametrize("goal", SUITES)
def test_the_suites_of_a_goal_need_only_what_it_installs(goal):
    installed = installed_for(goal)
    refused = [
        module
        for module, owners in packages_distributions().items()
        if not {canonicalize_name(owner) for owner in owners} & installed
    ]
    assert "torch" in refused and "numpy" not in refused
    told = subprocess.run(
        [sys.executable, "-c", _READ, ",".join(SUITES[goal]), ",".join(refused)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert told.returncode == 0, told.stderr[-2000:]
    assert int(told.stdout) >= 18
