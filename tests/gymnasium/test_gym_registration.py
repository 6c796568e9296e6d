"""Environments by task id, here and in Gymnasium."""

import os
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import gymnasium
import pytest
from gymnasium.error import NameNotFound

import agentgym
from agentgym import plugins
from agentgym.errors import ConfigError, NotFoundError
from agentgym.gymnasium import ids as gymnasium_ids
from agentgym.gymnasium import registration
from agentgym.gymnasium.env import GymEnv
from agentgym.records import Capability

BUNDLED = {
    tomllib.loads(path.read_text())["id"]
    for path in Path(agentgym.__file__).parents[1].glob("tasks/*/*/task.toml")
}
TASK_ID = "terminal/log-forensics-v1"
GYM_ID = "agentgym/terminal.log-forensics-v1"


class CountingProvider:
    """Stands in for a provider where no sandbox is started."""

    name = "counting"
    capabilities = frozenset(Capability)
    made = 0

    def __init__(self):
        type(self).made += 1

    def problems(self):
        """There is nothing to start."""
        return []

    async def start(self, spec):
        """Fail: these tests start no sandbox."""
        raise NotImplementedError

    async def close(self):
        """There is nothing to close."""


@pytest.fixture
def counting(monkeypatch):
    load = plugins.load
    monkeypatch.setattr(
        plugins,
        "load",
        lambda group, name: CountingProvider if name == "counting" else load(group, name),
    )
    monkeypatch.setattr(CountingProvider, "made", 0)
    registration.shared_provider.cache_clear()
    yield CountingProvider
    registration.shared_provider.cache_clear()


def write_task(root, name, toml_id):
    source = Path(agentgym.__file__).parents[1] / "tasks/terminal/log-forensics"
    folder = root / "tasks/mine" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-r", source, folder], check=True)
    text = (source / "task.toml").read_text().replace(TASK_ID, toml_id)
    (folder / "task.toml").write_text(text)


def test_every_bundled_task_has_an_id_in_gymnasium():
    assert TASK_ID in BUNDLED
    for task_id in BUNDLED:
        spec = gymnasium.spec(f"agentgym/{task_id.replace('/', '.')}")
        assert spec.kwargs["task_id"] == task_id


def test_both_ways_make_the_same_environment_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = agentgym.make(TASK_ID, seed=4, max_steps=7, render_mode="ansi")
        theirs = gymnasium.make(GYM_ID, seed=4, max_steps=7, render_mode="ansi")
        again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(ours.spec.to_json()))
    for env in (ours, theirs, again):
        assert isinstance(env, GymEnv)
        assert env.spec.id == GYM_ID
        assert env.environment.task.id == TASK_ID
        assert env.environment.max_steps == 7
        assert env.render_mode == "ansi"
        assert env.action_space == ours.action_space
        env.close()
    tools = {tool.name for tool in ours.action_space.tools}
    assert tools == {"bash", "read_file", "write_file", "edit_file", "submit", "give_up"}


def test_mistyped_names_offer_the_close_match():
    with pytest.raises(NotFoundError, match=f"did you mean '{TASK_ID}'"):
        agentgym.make("terminal/log-forensic-v1")
    with pytest.raises(NotFoundError, match="did you mean 'bubblewrap'"):
        agentgym.make(TASK_ID, sandbox="bublewrap")
    with pytest.raises(NameNotFound, match="terminal.log-forensics"):
        gymnasium.make("agentgym/terminal.log-forensic-v1")


@pytest.mark.parametrize(
    "options",
    [
        {"seed": -1},
        {"seed": "x"},
        {"max_steps": 0},
        {"max_steps": "many"},
        {"seed": True},
        {"max_steps": True},
    ],
)
def test_options_that_make_no_sense_are_refused(counting, options):
    (name,) = options
    with pytest.raises(ConfigError, match=f"{name}: expected"):
        agentgym.make(TASK_ID, sandbox="counting", **options)


@pytest.mark.parametrize("tasks", [[], (), 3, None, [TASK_ID, None], [3]])
def test_lanes_without_the_id_of_a_task_are_refused(counting, tasks):
    with pytest.raises(ConfigError, match="tasks: expected one id of a task or several"):
        agentgym.vector.make(tasks, 2, sandbox="counting")


def test_a_process_makes_one_provider(counting):
    first = agentgym.make(TASK_ID, sandbox="counting")
    second = agentgym.make(TASK_ID, sandbox="counting")
    assert counting.made == 1
    first.close()
    second.close()


def test_tasks_that_appear_later_are_found(tmp_path, monkeypatch, counting):
    write_task(tmp_path, "late", "mine/late-v3")
    write_task(tmp_path, "odd name", "mine/odd name-v1")
    (tmp_path / "tasks/mine/broken").mkdir()
    (tmp_path / "tasks/mine/broken/task.toml").write_text("id = 5")
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    env = agentgym.make("mine/late-v3", sandbox="counting")
    assert env.spec.id == "agentgym/mine.late-v3"
    assert env.spec.id not in gymnasium.registry
    gymnasium_ids.register_tasks()
    try:
        made = gymnasium.make("agentgym/mine.late-v3", sandbox="counting")
        assert made.unwrapped.environment.task.id == "mine/late-v3"
        mine = [name for name in gymnasium.registry if name.startswith("agentgym/mine")]
        assert mine == ["agentgym/mine.late-v3"]
    finally:
        gymnasium.registry.pop("agentgym/mine.late-v3", None)


@pytest.mark.parametrize("search_path", ["/nowhere/at/all", "a\nb"])
def test_a_broken_search_path_breaks_no_import(search_path):
    done = subprocess.run(
        [sys.executable, "-c", "import agentgym; agentgym.make('terminal/log-forensics-v1')"],
        env={**os.environ, "AGENTGYM_PATH": search_path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "ConfigError: AGENTGYM_PATH" in done.stderr
    assert "line 1, in <module>\n    import agentgym" not in done.stderr


def test_gymnasium_is_imported_by_who_needs_it_and_knows_the_tasks_then():
    program = (
        "import sys, agentgym\n"
        "assert not {'gymnasium', 'numpy'} & set(sys.modules)\n"
        "import gymnasium, importlib.resources\n"
        f"assert gymnasium.spec({GYM_ID!r}).kwargs == {{'task_id': {TASK_ID!r}}}\n"
        "assert type(gymnasium.__spec__.loader).__name__ == 'SourceFileLoader'\n"
        "assert importlib.resources.files('gymnasium').is_dir()\n"
        "import importlib; importlib.reload(gymnasium)\n"
        "assert gymnasium.__loader__ is gymnasium.__spec__.loader\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_order_of_the_imports_does_not_matter():
    program = f"import gymnasium, agentgym; gymnasium.spec({GYM_ID!r})"
    for order in (program, "from agentgym.gymnasium.registration import make; " + program):
        done = subprocess.run([sys.executable, "-c", order], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
