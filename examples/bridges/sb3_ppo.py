"""Train Stable-Baselines3's PPO on real shells, several episodes at a time.

pip install "agentgym-suite[train]" "stable-baselines3==2.9.2"
python examples/bridges/sb3_ppo.py
"""

from pathlib import Path

from stable_baselines3 import PPO

import agentgym
from agentgym.train.bridges.stable_baselines import ToolCallVecEnv

TASK = Path(__file__).parents[1] / "tiny-terminal/one-level"
FOLDERS = ("red", "green", "blue", "amber", "violet")


def main(timesteps: int = 1024, lanes: int = 8, seed: int = 0) -> PPO:
    """Return a policy that was trained to put a file where the instruction says."""
    # The policy chooses one of these calls by its number, and reads the text as bytes.
    calls = [
        {"tool": "bash", "arguments": {"command": f"touch /root/{folder}/done"}}
        for folder in FOLDERS
    ]
    envs = agentgym.vector.make(str(TASK), lanes, seed=seed, autoreset_mode="SameStep", max_steps=1)
    lane_envs = ToolCallVecEnv(envs, calls, length=96)
    try:
        model = PPO("MlpPolicy", lane_envs, n_steps=16, batch_size=32, seed=seed, device="cpu")
        model.learn(total_timesteps=timesteps)
    finally:
        lane_envs.close()
    rewards = [episode["r"] for episode in model.ep_info_buffer]
    print(f"mean score of the last {len(rewards)} scored episodes: {sum(rewards) / len(rewards)}")
    print(f"episodes without a score: {len(lane_envs.unscored)}")
    return model


if __name__ == "__main__":
    main()
