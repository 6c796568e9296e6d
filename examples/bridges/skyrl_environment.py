"""An environment of SkyRL-gym: agentgym's tasks for SkyRL's trainer.

pip install agentgym-suite skyrl-gym==0.4.0
Import this module where SkyRL starts (it registers "agentgym"), and train on `write(path)`.
"""

import json
import sys
from pathlib import Path

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv

from agentgym.train.bridges.skyrl import TextEnvironment, rows

TASKS = ["tools/largest-debtors-v1"]


class AgentgymEnv(TextEnvironment, BaseTextEnv):
    """One episode; the score is the reward of its last step."""


skyrl_gym.register(id="agentgym", entry_point=AgentgymEnv)


def write(path: Path, seeds: range = range(100)) -> None:
    """Write the rows of a data set, one JSON object a line."""
    found = rows("agentgym", TASKS, seeds, sandbox="none")
    path.write_text("".join(json.dumps(row) + "\n" for row in found))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
