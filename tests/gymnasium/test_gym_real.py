"""A real task in a real sandbox, through `agentgym.make`."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import agentgym
from agentgym.gymnasium import registration
from agentgym.sandbox.bubblewrap import BubblewrapProvider

TASK_ID = "terminal/log-forensics-v1"
PROBLEMS = BubblewrapProvider().problems()

pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Keep what these tests prepare away from the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        registration.shared_provider.cache_clear()
        yield
        registration.shared_provider.cache_clear()


def bash(command):
    return {"tool": "bash", "arguments": {"command": command}}


def test_the_example_in_the_documentation():
    assert doctest.testmod(registration) == (0, 6)
    assert doctest.testmod(agentgym.vector) == (0, 7)


def test_an_episode_runs_on_a_computer():
    with agentgym.make(TASK_ID, seed=3) as env:
        observation, info = env.reset()
        assert observation["text"] == info["instruction"]
        assert info["params"]["site"] in observation["text"]
        env.step(bash("cd /tmp && word='h\u00e9 \u6f22'"))
        observation, reward, *_, info = env.step(bash('echo "$word"; pwd; false'))
        assert observation["text"] == "h\u00e9 \u6f22\n/tmp\n[exit code 1]"
        assert observation["data"]["exit_code"] == 1
        assert observation in env.observation_space
        assert (reward, info["effect"]) == (0.0, "error")
        *_, reward, terminated, truncated, info = env.step({"tool": "submit"})
        assert (reward, terminated, truncated) == (0.0, True, False)
        assert (info["verdict"]["status"], info["verdict"]["outcome"]) == ("scored", False)


LEFT_OPEN = """
import sys
import agentgym

env = agentgym.make("terminal/log-forensics-v1", seed=3)
env.reset()
done = env.step({"tool": "bash", "arguments": {"command": f"sleep {sys.argv[1]} & echo started"}})
assert done[0]["text"].endswith("started\\n"), done
"""


def test_a_process_that_ends_leaves_nothing_behind():
    marker = "86399.4217"
    done = subprocess.run(
        [sys.executable, "-c", LEFT_OPEN, marker], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    alive = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if marker in command_line(path)
    ]
    assert alive == []


def command_line(path):
    try:
        return path.read_text(errors="replace")
    except OSError:  # it ended since the folder was listed
        return ""
