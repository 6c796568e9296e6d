"""An environment of SkyRL-gym 0.4, called as its trainer calls it; skyrl_gym itself with --full."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_environment import FakeEnvironment, FakeEpisode

from agentgym.errors import ConfigError, VerifierError
from agentgym.records import Verdict
from agentgym.train.bridges import skyrl

ROOT = Path(__file__).parents[2]
SAY = json.dumps({"tool": "say", "arguments": {"text": "hello"}})
SUBMIT = json.dumps({"tool": "submit", "arguments": {"answer": "plain"}})  # the word of seed 3
PROMPT = [{"role": "user", "content": ""}]


@pytest.fixture
def make(monkeypatch):
    environment = FakeEnvironment()
    monkeypatch.setattr(skyrl, "_environment", lambda task, sandbox, max_steps: environment)

    def made(seed=3, episode=FakeEpisode):
        environment.episode_type = episode
        return skyrl.TextEnvironment(extras={"extra_info": {"task": "fake/echo-v1", "seed": seed}})

    return made


def test_replies_are_calls_and_the_score_is_the_last_reward(make):
    env = make()
    (message,), info = env.init(PROMPT)
    assert message["role"] == "user"
    assert message["content"].startswith("Submit plain.") and '"fill"' in message["content"]
    assert info == {}
    first = env.step(SAY)
    assert first["observations"] == [{"role": "user", "content": "hello"}]
    assert (first["reward"], first["done"]) == (0.0, False)
    last = env.step(f"```json\n{SUBMIT}\n```")
    assert (last["observations"], last["reward"], last["done"]) == ([], 1.0, True)
    assert last["metadata"] == {"task": "fake/echo-v1", "seed": 3}
    assert env.get_metrics() == {"steps": 2, "unreadable_replies": 0, "score": 1.0, "passed": 1.0}
    env.close()
    env.close()


def test_messages_before_the_instruction_stay(make):
    system = {"role": "system", "content": "Be brief."}
    messages, _ = make().init([system, {"role": "user", "content": "Here is a task."}])
    assert messages[0] == system
    assert messages[1]["content"].startswith("Here is a task.\n\nSubmit plain.")


@pytest.mark.parametrize("reply", ["I give up", "[]", "{" * 100_000, ""])
def test_a_reply_that_is_no_call_ends_the_episode_as_it_stands(make, reply):
    env = make()
    env.init(PROMPT)
    done = env.step(reply)
    assert (done["reward"], done["done"]) == (0.25, True)
    assert env.get_metrics()["unreadable_replies"] == 1
    with pytest.raises(ConfigError, match="the episode is not live"):
        env.step(SAY)


def test_an_episode_without_a_score_raises(make):
    class Unscored(FakeEpisode):
        async def finish(self):
            return Verdict("error:verifier", False, 0.0)

    env = make(episode=Unscored)
    env.init(PROMPT)
    with pytest.raises(VerifierError, match="no score: error:verifier"):
        env.step("no call")


@pytest.mark.parametrize(
    "extras",
    [
        None,
        {},
        {"extra_info": {"task": "a"}},
        {"extra_info": {"seed": 1}},
        {"extra_info": {"task": "a", "seed": -1}},
        {"extra_info": {"task": "a", "seed": True}},
    ],
)
def test_rows_without_a_task_and_a_seed_are_refused(extras):
    with pytest.raises(ConfigError, match="expected a 'task' and a 'seed'"):
        skyrl.TextEnvironment(extras=extras)


def test_rows_name_each_task_with_each_seed():
    rows = skyrl.rows("agentgym", ["a/b-v1", "a/c-v1"], range(2), sandbox="none")
    assert [row["extra_info"] for row in rows] == [
        {"task": task, "seed": seed, "sandbox": "none"}
        for task in ("a/b-v1", "a/c-v1")
        for seed in (0, 1)
    ]
    assert {row["env_class"] for row in rows} == {"agentgym"}


PROGRAM = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import skyrl_gym
import skyrl_environment

path = Path(sys.argv[2])
skyrl_environment.write(path, range(2))
rewards = []
for line in path.read_text().splitlines():
    row = json.loads(line)
    env = skyrl_gym.make(row["env_class"], env_config={}, extras=row)
    messages, info = env.init(row["prompt"])
    assert "contacts_search" in messages[-1]["content"]
    step = env.step(json.dumps({"tool": "contacts_search", "arguments": {"text": "an"}}))
    assert not step["done"] and step["observations"][0]["content"]
    step = env.step("I am done.")
    rewards.append((step["reward"], step["done"], env.get_metrics()["steps"]))
    env.close()
metrics = type(env).aggregate_metrics([env.get_metrics(), env.get_metrics()])
print(json.dumps([rewards, metrics["steps"]]))
"""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(1200)  # an index may be slow
def test_the_example_is_an_environment_of_skyrl_gym(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    install = (python, "-m", "pip", "install", "-q", "-e", ROOT, "skyrl-gym==0.4.0")
    subprocess.run(install, check=True)
    done = subprocess.run(
        (python, "-c", PROGRAM, ROOT / "examples/bridges", tmp_path / "rows.jsonl"),
        env={**os.environ, "AGENTGYM_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    rewards, steps = json.loads(done.stdout.splitlines()[-1])
    assert rewards == [[0.0, True, 1], [0.0, True, 1]]
    assert steps == 1
