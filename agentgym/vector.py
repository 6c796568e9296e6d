"""Vector environments by the names of tasks: many episodes at a time in one process.

The lanes follow the contract of `gymnasium.vector.VectorEnv`, Gymnasium 1.x.
"""

from __future__ import annotations

from collections.abc import Sequence

from gymnasium.vector import AutoresetMode

from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.env.portal import portal
from agentgym.env.registration import shared_provider
from agentgym.env.vector import TIMEOUT_S, VectorEnvironment
from agentgym.errors import ConfigError

__all__ = ["AutoresetMode", "VectorEnvironment", "make"]


def make(
    tasks: str | Sequence[str],
    num_envs: int | None = None,
    *,
    seed: int | None = None,
    sandbox: str = "bubblewrap",
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    max_steps: int | None = None,
    user: str = "",
    timeout_s: float = TIMEOUT_S,
) -> VectorEnvironment:
    """Make a vector environment. Lanes of the same task share its environment.

    Example:
        >>> envs = make("terminal/log-forensics-v1", 2, seed=3)
        >>> observations, infos = envs.reset()
        >>> infos["seed"].tolist()
        [3, 4]
        >>> pwd = {"tool": "bash", "arguments": {"command": "cd /tmp; pwd"}}
        >>> observations, rewards, terminations, truncations, infos = envs.step([pwd, pwd])
        >>> [text.strip() for text in observations["text"]]
        ['/tmp', '/tmp']
        >>> envs.close()

    Args:
        tasks: A task id or the path of a task folder, for all lanes; or several, which the lanes
            take in turn.
        num_envs: How many lanes there are; None: one for each task.
        seed: Seed of the first lane's first episode, where `reset` is not given one; the next
            lane has the next number.
        sandbox: Name of the sandbox provider, which all lanes share.
        autoreset_mode: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``; see `VectorEnvironment`.
        max_steps: Steps before an episode is cut off; None takes each task's own number.
        user: Who plays the user of a task, if it has one; see `agentgym.make`.
        timeout_s: Seconds that one lane's reset or step may take before the lane ends unscored.

    Returns:
        The vector environment. An episode that cannot be scored ends its lane with
        ``infos["status"]`` and ``truncated``; a trainer must drop it.

    Raises:
        NotFoundError: No task or no sandbox provider of that name; offers the close match.
        ConfigError: Another argument is wrong.
    """
    names = [tasks] if isinstance(tasks, str) else list(tasks)
    count = len(names) if num_envs is None else num_envs
    if not names or not isinstance(count, int) or isinstance(count, bool) or count < len(names):
        raise ConfigError(
            f"num_envs: expected at least one lane for each of {len(names)} tasks, got {num_envs!r}"
        )
    provider = shared_provider(portal(), sandbox)
    made = {
        name: Environment(load_built(name), provider, max_steps=max_steps, user=user)
        for name in dict.fromkeys(names)
    }
    return VectorEnvironment(
        [made[names[lane % len(names)]] for lane in range(count)],
        seed=seed,
        autoreset_mode=autoreset_mode,
        timeout_s=timeout_s,
    )
