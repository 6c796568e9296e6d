"""Advantages: how much better a trajectory, a step or a branch did than those beside it."""

from agentgym.train.advantages.groups import dr_grpo, grpo, mc_grpo, rloo
from agentgym.train.advantages.hierarchy import hgpo
from agentgym.train.advantages.shaping import potential_rewards, process_grpo, returns
from agentgym.train.advantages.steps import gigpo, gigpo_step
from agentgym.train.advantages.trees import Tree, fork_relative, step_values

__all__ = [
    "Tree",
    "dr_grpo",
    "fork_relative",
    "gigpo",
    "gigpo_step",
    "grpo",
    "hgpo",
    "mc_grpo",
    "potential_rewards",
    "process_grpo",
    "returns",
    "rloo",
    "step_values",
]
