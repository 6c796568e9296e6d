"""Lanes of a vector environment as a `VecEnv` of Stable-Baselines3, version 2.

Its algorithms take numbers only: actions are the numbers of given tool calls, observations the
last bytes of the text. A reset of a lane follows the end of its episode in the same step.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.spaces import Tuple as TupleSpace
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from agentgym.errors import ConfigError
from agentgym.gymnasium.vector_infos import of_lane
from agentgym.gymnasium.wrappers import last_bytes, legal_calls
from agentgym.records import Action, Json
from agentgym.vector import AutoresetMode, VectorEnvironment


class ToolCallVecEnv(VecEnv):
    """Lanes of which an agent chooses among given tool calls by number.

    An episode without a score (a dead sandbox, a broken check) is missing data, which
    Stable-Baselines3 cannot leave out. Its last step says ``TimeLimit.truncated``, so that the
    algorithm replaces the missing rest by its own estimate of the value of the last observation
    that the policy saw, and it has no ``episode`` in its info, so that it enters no mean.

    Args:
        envs: The lanes, made with ``autoreset_mode="SameStep"``; closed with this object.
        calls: The calls; action ``n`` makes ``calls[n]``. Each lane must accept all of them.
        length: Number of bytes of an observation.

    Raises:
        ActionError: The list is empty, or holds a call that a lane does not accept.
        ConfigError: The lanes have another autoreset mode.

    Attributes:
        unscored: Why the episodes that ended without a score have none.
    """

    def __init__(
        self,
        envs: VectorEnvironment,
        calls: Sequence[Action | Mapping[str, Json]],
        length: int = 512,
    ) -> None:
        if envs.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise ConfigError(
                f"the lanes have autoreset_mode {envs.autoreset_mode.value!r}; "
                "make them with autoreset_mode='SameStep'"
            )
        each = envs.action_space
        spaces = each.spaces if isinstance(each, TupleSpace) else [envs.single_action_space]
        self.calls, self.length = legal_calls(calls, spaces), length
        self.unscored: list[str] = []
        self._envs, self._actions = envs, list[dict[str, Json]]()
        self._seen = np.zeros((envs.num_envs, length), np.uint8)
        self._lengths, self._began_s = [0] * envs.num_envs, time.monotonic()
        super().__init__(envs.num_envs, Box(0, 255, (length,), np.uint8), Discrete(len(self.calls)))

    def reset(self) -> NDArray[np.uint8]:
        """Begin an episode in every lane; `seed` gives the seeds."""
        given = any(seed is not None for seed in self._seeds)
        observations, infos = self._envs.reset(seed=self._seeds if given else None)
        self.reset_infos = [of_lane(infos, lane) for lane in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        self._lengths = [0] * self.num_envs
        self._seen = self._bytes(observations["text"])
        return self._seen.copy()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        """Take the number of a call for each lane."""
        self._actions = [self.calls[int(number)] for number in actions]

    def step_wait(
        self,
    ) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Make the calls.

        Returns:
            Observations ``uint8[num_envs, length]``, rewards ``float32[num_envs]``, ends
            ``bool[num_envs]`` and an info for each lane.
        """
        observations, rewards, terminations, truncations, infos = self._envs.step(self._actions)
        ended = terminations | truncations
        told = []
        for lane in range(self.num_envs):
            self._lengths[lane] += 1
            info = of_lane(infos, lane)
            told.append(self._end(lane, info, float(rewards[lane])) if ended[lane] else info)
        self._seen = self._bytes(observations["text"])
        return self._seen.copy(), rewards.astype(np.float32), ended, told

    def close(self) -> None:
        """End all episodes and close the lanes."""
        self._envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the lanes, the same for each."""
        value = getattr(self._envs, attr_name)
        return [value] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: the lanes of a vector environment have no attributes of their own.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(f"{attr_name!r} cannot be set: lanes have no attributes of their own")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Refuse: the lanes of a vector environment have no methods of their own.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(f"{method_name!r} cannot be called: lanes have no methods")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each lane, except that all of them report their episodes."""
        from stable_baselines3.common.monitor import Monitor

        return [wrapper_class is Monitor for _ in self._get_indices(indices)]

    def _end(self, lane: int, info: dict[str, Any], reward: float) -> dict[str, Any]:
        """Return the info of an episode's last step."""
        final, seen = info["final_info"], info["final_obs"]["text"]
        length, self._lengths[lane] = self._lengths[lane], 0
        told: dict[str, Any] = {**final, "TimeLimit.truncated": not final["scored"]}
        if final["scored"]:
            told["terminal_observation"] = last_bytes(seen, self.length)
            spent_s = round(time.monotonic() - self._began_s, 6)
            told["episode"] = {"r": reward, "l": length, "t": spent_s}
        else:
            told["terminal_observation"] = self._seen[lane].copy()
            self.unscored.append(f"{final['status']}: {final['error']}")
        return told

    def _bytes(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        return np.stack([last_bytes(text, self.length) for text in texts])
