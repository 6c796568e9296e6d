"""An agent loop of verl: verl's servers sample, agentgym's environments answer.

pip install "agentgym-suite[train-hf]" verl==0.9.1
Rows of the data set have agent_name = "agentgym", task and seed. Tell verl about the loop with
actor_rollout_ref.rollout.agent.agent_loop_config_path = FILE, a YAML file with
    - name: agentgym
      _target_: verl_agent_loop.AgentgymLoop
"""

from functools import cache
from typing import Any

from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopMetrics,
    AgentLoopOutput,
    register,
)

from agentgym.train.bridges.verl import EpisodeLoop
from agentgym.train.templates.chat import ChatTemplate

EPISODES = EpisodeLoop(sandbox="bubblewrap")
template = cache(ChatTemplate)


@register("agentgym")
class AgentgymLoop(AgentLoopBase):
    """Plays one episode."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Return the tokens of the episode, and its score as the reward."""
        fields = await EPISODES.run(
            *(self.server_manager, template(self.tokenizer), sampling_params),
            task=str(row["task"]),
            seed=int(row["seed"]),
            prompt_tokens=self.rollout_config.prompt_length,
            response_tokens=self.rollout_config.response_length,
        )
        return AgentLoopOutput(**fields, metrics=AgentLoopMetrics())
