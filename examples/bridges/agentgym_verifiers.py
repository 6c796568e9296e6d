"""An environment of Prime Intellect's verifiers whose tasks are ours.

pip install agentgym-suite verifiers==0.4.0
Copy this file to where you start verifiers; its taskset id is then agentgym_verifiers.
"""

import verifiers.v1 as vf

import agentgym
from agentgym.train.bridges.verifiers import play


class AgentgymData(vf.TaskData):
    """One task with one seed."""

    task_id: str
    seed: int


class AgentgymConfig(vf.TasksetConfig):
    """Which task, and how many seeds of it."""

    task_id: str = "tools/dinner-offer-v1"
    seeds: int = 10


class AgentgymTask(vf.Task[AgentgymData]):
    """It is scored by the environment."""


class AgentgymTaskset(vf.Taskset[AgentgymTask, AgentgymConfig]):
    """A task for each seed; verifiers plays several rollouts of each as a group."""

    def load(self) -> list[AgentgymTask]:
        """Return the tasks. The first message comes from the environment, not from a prompt."""
        task_id, seeds = self.config.task_id, range(self.config.seeds)
        data = [AgentgymData(task_id=task_id, seed=seed) for seed in seeds]
        return [AgentgymTask(each, self.config.task) for each in data]


class AgentgymEnvConfig(vf.EnvConfig):
    """One agent plays."""

    player: vf.AgentConfig = vf.AgentConfig()


class AgentgymEnv(vf.Env[AgentgymEnvConfig]):
    """Plays an episode as the user of the player's rollout."""

    async def run(self, task: AgentgymTask, agents: vf.Agents) -> None:
        """Play, and record the score. An episode without one raises, so it has no reward."""
        async with (
            agentgym.open_environment(task.data.task_id) as environment,
            agents.player.interaction(task) as interaction,
        ):
            verdict = await play(environment, task.data.seed, interaction)
        interaction.trace.record_reward("score", verdict.score)


__all__ = ["AgentgymEnv", "AgentgymTaskset"]
