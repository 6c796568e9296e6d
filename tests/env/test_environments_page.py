"""The examples of docs/environments.md run as they are printed."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import agentgym
from agentgym.env.environment import Environment
from agentgym.errors import ConfigError, NotFoundError, SurfaceError
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.adhoc import lay_down

PAGE = (Path(__file__).parents[2] / "docs/environments.md").read_text()
PROBLEMS = BubblewrapProvider().problems()


pytestmark = pytest.mark.usefixtures("session_cache")
needs_sandbox = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")


def run_example(number, folder):
    """Run an example of the page and return the lines that it prints."""
    code = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)[number]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_sandbox
def test_the_example(tmp_path):
    instruction, *rest = run_example(0, tmp_path)
    assert len(instruction) > 20
    assert rest == ["changed False", "error 1", "scored 0.0"]


@needs_sandbox
def test_the_example_with_lanes(tmp_path):
    assert run_example(1, tmp_path) == [
        "[7, 8, 9, 10]",
        "['/tmp', '/tmp', '/tmp', '/tmp']",
        "lane 0: scored, reward 0.0",
        "lane 2: scored, reward 0.0",
    ]


def test_every_part_that_the_page_names_is_there():
    for module, name in re.findall(r"`(agentgym(?:\.\w+)*)\.(\w+)[(`]", PAGE):
        found = __import__(module, fromlist=[name])
        assert hasattr(found, name), f"{module}.{name}"


async def test_an_environment_that_is_opened_is_closed_with_all_that_lives_in_it():
    folder = lay_down("office")
    async with agentgym.open_environment(str(folder), max_steps=3) as environment:
        assert environment.max_steps == 3
        first, second = [await environment.start(0) for _ in range(2)]
        assert environment.live == {first, second}
    assert first.over and second.over and not environment.live
    with pytest.raises(SurfaceError, match="the environment is closed"):
        await environment.start(0)


@pytest.mark.parametrize("seed", [-1, "7", 1.5, True, None, np.int64(-1)])
async def test_a_wrong_seed_starts_nothing(seed):
    async with agentgym.open_environment(str(lay_down("office"))) as environment:
        with pytest.raises(ConfigError, match="seed: expected an integer from 0 on"):
            await environment.start(seed)
        assert not environment.live


async def test_a_seed_of_numpy_is_an_integer():
    async with agentgym.open_environment(str(lay_down("office"))) as environment:
        episode = await environment.start(np.int64(7))
        assert type(episode.instance.seed) is int and episode.instance.seed == 7


async def test_a_provider_that_is_given_stays_open():
    class Watched(NoSandboxProvider):
        closed = 0

        async def close(self):
            self.closed += 1

    provider = Watched()
    async with agentgym.open_environment(str(lay_down("office")), sandbox=provider) as environment:
        assert isinstance(environment, Environment)
    assert provider.closed == 0


async def test_a_name_that_is_not_there_is_told():
    with pytest.raises(NotFoundError, match="did you mean 'bubblewrap'"):
        async with agentgym.open_environment("terminal/log-forensics-v1", sandbox="bubblewarp"):
            pass
