"""The policy of this page, which sees observations only."""

from agentgym.task.reference_policy import shared_policies

solve = shared_policies("miniwob", "clicking").link
