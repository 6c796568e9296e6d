"""Recorded episodes as Minari's buffers; with Minari itself in an environment of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import agentgym
from agentgym.errors import RecordError
from agentgym.gymnasium import registration
from agentgym.train.bridges.minari import recorded_episodes, text_space
from agentgym.train.datasets import memory

ROOT = Path(__file__).parents[2]
TASK = ROOT / "examples/tiny-terminal/two-level"
FIELDS = {"seed", "observations", "actions", "rewards", "terminations", "truncations"}
SUBMIT = {"tool": "submit", "arguments": {}}
ECHO = {"tool": "bash", "arguments": {"command": "printf 'na\u00efve \\0 \U0001f9ed'"}}


@pytest.fixture(scope="module")
def run(session_cache, tmp_path_factory):
    """A run of three episodes: two steps, one step, and one that was left before its end."""
    registration.shared_provider.cache_clear()
    folder = tmp_path_factory.mktemp("recorded") / "run"
    env = agentgym.make(str(TASK), record=folder, seed=5)
    env.reset()
    env.step(ECHO)
    env.step(SUBMIT)
    env.reset(seed=6)
    env.step(SUBMIT)
    env.reset(seed=7)
    env.step(ECHO)
    env.close()
    registration.shared_provider.cache_clear()
    return folder


def test_scored_episodes_become_buffers(run):
    found = recorded_episodes([run])
    assert [set(buffer) for buffer in found.buffers] == [FIELDS, FIELDS]
    first, second = found.buffers
    assert (first["seed"], second["seed"]) == (5, 6)
    assert len(first["observations"]) == 3 and "done" in first["observations"][0]
    assert first["observations"][1].startswith("na\u00efve \u2400 \U0001f9ed")
    assert json.loads(first["actions"][0]) == ECHO
    assert [json.loads(action)["tool"] for action in second["actions"]] == ["submit"]
    assert first["terminations"] == [False, True] and first["truncations"] == [False, False]
    assert first["rewards"] == [0.0, found.metadata[0]["score"]]
    for buffer in found.buffers:
        assert all(text in found.observation_space for text in buffer["observations"])
        assert all(action in found.action_space for action in buffer["actions"])
    # The third has no score, so it is not an episode with a reward of 0.
    assert len(found.left_out) == 1 and "1 " in found.left_out[0]


def test_buffers_share_a_bound_on_memory(run, monkeypatch):
    monkeypatch.setattr(memory, "memory_for_steps", lambda: 10)
    with pytest.raises(RecordError, match="more than half of this machine's memory"):
        recorded_episodes([run])


def test_the_space_is_no_larger_than_its_texts():
    space = text_space(["ab", ""])
    assert "ab" in space and "" in space
    assert "abc" not in space and "c" not in space
    assert text_space([""]).max_length == 1


def test_a_run_without_scored_episodes_gives_nothing(session_cache, tmp_path):
    registration.shared_provider.cache_clear()
    env = agentgym.make(str(TASK), record=tmp_path / "run")
    env.reset(seed=1)
    env.close()
    registration.shared_provider.cache_clear()
    with pytest.raises(RecordError, match="no episodes with steps"):
        recorded_episodes([tmp_path / "run"])


READ = """
import json, minari, sys
sys.path.insert(0, sys.argv[1])
import minari_dataset
minari_dataset.main(sys.argv[2], "agentgym/tiny-v0")
dataset = minari.load_dataset("agentgym/tiny-v0")
for episode in dataset.iterate_episodes():
    told = [list(map(str, episode.observations)), list(map(str, episode.actions))]
    print(json.dumps([*told, episode.rewards.tolist(), episode.terminations.tolist()]))
"""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(1200)  # an index may be slow
def test_the_example_writes_a_dataset_that_minari_reads(run, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    install = (python, "-m", "pip", "install", "-q", "-e", ROOT, "minari[hdf5]==0.5.4")
    subprocess.run(install, check=True)
    done = subprocess.run(
        (python, "-c", READ, ROOT / "examples/bridges", run),
        env={**os.environ, "MINARI_DATASETS_PATH": str(tmp_path / "minari")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    read = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[[")]
    keys = ("observations", "actions", "rewards", "terminations")
    assert read == [[buffer[key] for key in keys] for buffer in recorded_episodes([run]).buffers]
