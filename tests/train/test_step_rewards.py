"""Rewards of single steps: which step gets them, and who may use them."""

from __future__ import annotations

import itertools

import pytest
import torch
from offline_runs import write_refund

from agentgym.errors import NotFoundError
from agentgym.records import CheckpointResult, CheckStatus, Phase, Verdict
from agentgym.task.load import find_task
from agentgym.testing.step_grader import step
from agentgym.train.advantages import process_grpo
from agentgym.train.config import Advantage, AlgorithmConfig, load_config
from agentgym.train.step_rewards import StepRewards

THINGS = {"lamp": 5, "chair": 17, "desk": 23, "sofa": 31}
TASK = {
    "task.toml": """
schema_version = "agentgym.task/1"
id = "demo/refund-v1"
title = "Pay three orders back"
difficulty = "easy"
env = "shop"
max_steps = 3

[params]
name = { choice = ["ada", "ben", "cleo", "dan", "eve"] }
wanted = { choice = [
"""
    + "".join(
        f"  {{ first = '{a}', second = '{b}', third = '{c}', "
        f"order0 = {THINGS[a]}, order1 = {THINGS[b]}, order2 = {THINGS[c]} }},\n"
        for a, b, c in itertools.islice(itertools.permutations(THINGS, 3), None, None, 3)
    )
    + """] }
""",
    "instruction.md": (
        "{{name}} sent three things back: refund {{wanted.first}}, {{wanted.second}} "
        "and {{wanted.third}}."
    ),
    "solution/actions.jsonl": "".join(
        f'{{"tool": "orders_refund", "arguments": {{"order": "{{{{wanted.order{k}}}}}"}}}}\n'
        for k in range(3)
    ),
    "checks/rubric.toml": """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "all"
title = "All three are refunded"
kind = "all"
"""
    + "".join(
        f"""
[[checkpoint.checkpoint]]
id = "order-{k}"
title = "One of the orders is refunded"
use = "checks.refunded"
with = {{ place = {k} }}
when = "every_step"
"""
        for k in range(3)
    ),
    "checks/checks.py": """
def refunded(evidence, place):
    order = evidence.params["wanted"][f"order{place}"]
    return (order,) in [row.key for row in evidence.row_changes]
""",
}
CONFIG = (
    """
schema_version = "agentgym.train/1"
tasks = ["demo/refund-v1"]
sandbox = "none"
iterations = 16
[policy]
width = 32
context = 96
words = ["and"]
[policy.actions]
"""
    + "".join(
        f'{what} = {{ tool = "orders_refund", arguments = {{ order = {order} }} }}\n'
        for what, order in THINGS.items()
    )
    + """
[rollouts]
groups = 6
group_size = 8
jobs = 24
instances = 60
[algorithm]
advantage = "process_grpo"
learning_rate = 0.01
epochs = 4
entropy = 0.03
[evaluation]
every = 16
seeds = [1000, 1001, 1002]
trials = 8
"""
)


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    path = write_refund(folder, TASK, CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_PATH", str(folder))
        yield load_config(path)


def judged(reached):
    results = [
        CheckpointResult(id, Phase.OUTCOME, CheckStatus.PASS, 1.0, 1.0, step=at)
        for id, at in reached.items()
    ]
    return Verdict("scored", False, 0.0, checkpoints=tuple(results))


async def test_a_milestone_pays_the_step_that_reached_it(config):
    instance = find_task(config.tasks[0]).instance(3)
    steps = [step(k) for k in range(3)]
    verdict = judged({"order-0": 1, "order-1": None, "order-2": 1})
    found = await StepRewards({"milestones": 3.0}).rewards(instance, steps, verdict)
    assert found == pytest.approx([0, 2, 0])
    shaped = await StepRewards({"progress": 3.0}).rewards(instance, steps, verdict)
    assert shaped == pytest.approx([0, 2, -2])


async def test_a_bad_step_costs_its_weight(config):
    instance = find_task(config.tasks[0]).instance(3)
    steps = [step(0, "orders_refund", order="five"), step(1)]
    found = await StepRewards({"validity": 0.5}).rewards(instance, steps, judged({}))
    assert found[0] == -0.5


async def test_a_grader_that_cannot_judge_adds_nothing_and_is_counted(config):
    instance = find_task(config.tasks[0]).instance(3)
    steps = [step(0, "orders_refund", order="five")]
    giving = StepRewards({"milestones": 1.0, "validity": 1.0})
    # The verdict knows no milestone of the rubric.
    assert await giving.rewards(instance, steps, judged({})) == [-1.0]
    assert (giving.take_failures(), giving.take_failures()) == (1, 0)
    with pytest.raises(NotFoundError, match="no step grader named 'milestone'; did you mean"):
        StepRewards({"milestone": 1.0})


def test_process_rewards_are_normalised_within_the_group_and_summed_to_the_end():
    rewards = [0.0, 0.5, 1.0, 0.0, 0.0]
    trajectories, groups = torch.tensor([0, 0, 0, 1, 1]), torch.tensor([7, 7, 7, 7, 7])
    found = process_grpo(torch.tensor(rewards), trajectories, groups)
    mean = sum(rewards) / 5
    std = (sum((r - mean) ** 2 for r in rewards) / 4) ** 0.5
    normal = [(r - mean) / std for r in rewards]
    slow = [sum(normal[k:3]) for k in range(3)] + [sum(normal[k:]) for k in (3, 4)]
    assert found.tolist() == pytest.approx(slow, abs=1e-4)


def test_step_rewards_need_an_advantage_that_compares_steps():
    with pytest.raises(ValueError, match="expected one of the advantages gigpo, hgpo, process"):
        AlgorithmConfig(step_rewards={"milestones": 1.0})
    with pytest.raises(ValueError, match="would still tell"):
        AlgorithmConfig(
            step_rewards={"milestones": 1.0}, advantage=Advantage.GIGPO, shuffle_rewards=True
        )
