"""Recorded runs for tests of data sets: real episodes of a shop, and episodes laid down by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
from shop_task import write_shop
from typer.testing import CliRunner

from agentgym.agents.registry import create
from agentgym.cli.app import app
from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Decision,
    Effect,
    Generation,
    Observation,
    Step,
    TokenTrace,
    Verdict,
)
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider

TASK = "demo/refund-v1"
REFUND = {
    "task.toml": """
schema_version = "agentgym.task/1"
id = "demo/refund-v1"
title = "Pay an order back"
difficulty = "easy"
env = "shop"
max_steps = 4

[params]
name = { choice = ["ada", "ben", "cleo", "dan", "eve"] }
bought = { choice = [
  { what = "lamp", order = 5 },
  { what = "chair", order = 17 },
  { what = "desk", order = 23 },
] }
""",
    "instruction.md": "{{name}} sent the {{bought.what}} back: please refund it.",
    "solution/actions.jsonl": (
        '{"tool": "orders_refund", "arguments": {"order": "{{bought.order}}"}}'
    ),
    "checks/rubric.toml": """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "refunded"
title = "The order is refunded, and no other"
use = "checks.refunded"
""",
    "checks/checks.py": """
def refunded(evidence):
    return [row.key for row in evidence.row_changes] == [(evidence.params["bought"]["order"],)]
""",
}
CONFIG = """
schema_version = "agentgym.train/1"
tasks = ["demo/refund-v1"]
sandbox = "none"
iterations = 1
[policy]
width = 32
context = 64
batch_invariant = true
words = ["ada", "ben", "cleo", "dan", "eve"]
[policy.actions]
lamp = { tool = "orders_refund", arguments = { order = 5 } }
chair = { tool = "orders_refund", arguments = { order = 17 } }
desk = { tool = "orders_refund", arguments = { order = 23 } }
[rollouts]
groups = 2
group_size = 4
jobs = 8
instances = 60
refills = 3
[evaluation]
every = 2
seeds = [1000, 1001, 1002]
trials = 2
"""


def write_refund(root: Path, files: Mapping[str, str] = REFUND, config: str = CONFIG) -> Path:
    """Write the shop with one task and a training configuration; return the latter."""
    task = write_shop(root)
    for path in [*task.rglob("*")]:
        if path.is_file():
            path.unlink()
    for name, text in files.items():
        (task / name).write_text(text.lstrip())
    (root / "train.toml").write_text(config)
    return root / "train.toml"


def play(folder: Path, agents, seeds, *, task=TASK):
    """Record real episodes: each agent with each seed."""
    plans = [EpisodePlan(task, seed, 0, agent) for agent in agents for seed in seeds]

    async def run(store):
        provider = NoSandboxProvider()
        async with Environment(load_built(task), provider) as environment:
            for row in store.episodes():
                await run_episode(
                    *(environment, create(row.plan.agent)),
                    seed=row.plan.seed,
                    store=store,
                    episode_id=row.id,
                )
        await provider.close()

    with closing(RunStore.create(folder, {"tasks": [task]}, plans)) as store:
        asyncio.run(run(store))
    return folder


def step(tool, arguments=None, text="ok", effect=Effect.CHANGED, *, tokens=None, **more):
    """Return a step without its index; `tokens` are prompt ids and completion ids."""
    generations = more.pop("generations", None)
    if tokens is not None:
        logprobs = more.pop("logprobs", -0.5)
        filled = None if logprobs is None else np.full(len(tokens[1]), logprobs, np.float32)
        trace = TokenTrace(*(np.array(part, np.int32) for part in tokens), filled)
        generations = (Generation(trace, "stop", "0", {}),)
    image = more.pop("image", None)
    events = more.pop("events", ())
    decision = Decision(Action(tool, arguments or {}), generations=generations, **more)
    return Step(0, decision, Observation(text, image, effect=effect), events=events)


def lay(folder: Path, episodes, *, settings=None):
    """Lay a run down: each episode is its plan's changes, its steps and its verdict."""
    plans = [
        EpisodePlan(
            changes.get("task", TASK), changes.get("seed", 0), 0, changes.get("agent", "me")
        )
        for changes, _, _ in episodes
    ]
    with closing(RunStore.create(folder, settings or {}, plans)) as store:
        for id, (changes, steps, verdict) in enumerate(episodes, 1):
            fill(store, id, steps, verdict, changes.get("instruction", "Refund it."))
    return folder


def fill(store, id, steps, verdict, instruction="Refund it.", start=0):
    """Record the steps and the verdict of a planned episode."""
    recorder = store.begin(
        *(id,),
        params={},
        instruction=instruction,
        sandbox="none",
        reset_s=0.0,
        first=Observation(instruction),
    )
    for index, each in enumerate(steps, start):
        recorder.step(Step(index, each.decision, each.observation, 0.0, each.events))
    if verdict is not None:
        recorder.finish(verdict, duration_s=1.0)


PASSED = Verdict("scored", True, 1.0)
FAILED = Verdict("scored", False, 0.0)
BROKEN = Verdict("error:sandbox", False, 0.0)


def dataset(name, *arguments):
    """Run `agentgym dataset`; return what it printed, and raise what it raised."""
    result = CliRunner().invoke(app, ["dataset", name, *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def rows(file):
    return [json.loads(line) for line in file.read_text().splitlines()]
