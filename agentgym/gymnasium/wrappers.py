"""Gymnasium wrappers for learners that need numeric spaces.

`DiscreteCalls` turns a list of tool calls into a `Discrete` action space, `ByteText` the text
into a `Box`. Stable-Baselines3 needs both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from agentgym.errors import ActionError
from agentgym.records import Action, Json


class DiscreteCalls(gymnasium.ActionWrapper[Any, np.int64, dict[str, Json]], RecordConstructorArgs):
    """Lets an agent choose among given tool calls by number.

    Args:
        env: The environment, with tool calls as its actions.
        calls: The calls; action ``n`` makes ``calls[n]``.

    Raises:
        ActionError: The list is empty, or holds a call the environment does not accept.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, dict[str, Json]],
        calls: Sequence[Action | Mapping[str, Json]],
    ) -> None:
        self.calls = legal_calls(calls, [env.action_space])
        RecordConstructorArgs.__init__(self, calls=self.calls)
        gymnasium.ActionWrapper.__init__(self, env)
        self.action_space = Discrete(len(self.calls))

    def action(self, action: np.int64) -> dict[str, Json]:
        """Return the call with that number."""
        return self.calls[int(action)]


class ByteText(
    gymnasium.ObservationWrapper[NDArray[np.uint8], Any, dict[str, Any]], RecordConstructorArgs
):
    """Shows only the text, as bytes: ``uint8[length]``, UTF-8, padded with zeros.

    A longer text keeps its end, because a terminal shows the latest output there.

    Args:
        env: The environment, with ``text`` among its observations.
        length: Number of bytes.
    """

    def __init__(self, env: gymnasium.Env[dict[str, Any], Any], length: int = 512) -> None:
        RecordConstructorArgs.__init__(self, length=length)
        gymnasium.ObservationWrapper.__init__(self, env)
        self.length = length
        self.observation_space = Box(0, 255, (length,), np.uint8)

    def observation(self, observation: dict[str, Any]) -> NDArray[np.uint8]:
        """Return the text's last bytes."""
        return last_bytes(observation["text"], self.length)


def legal_calls(
    calls: Sequence[Action | Mapping[str, Json]], spaces: Iterable[gymnasium.Space[Any]]
) -> list[dict[str, Json]]:
    """Return calls to choose from as JSON objects.

    Args:
        calls: The calls.
        spaces: The action spaces that must hold all of them.

    Raises:
        ActionError: The list is empty, or a space does not hold a call.
    """
    read = [Action.from_json(call).to_json() for call in calls]
    if not read:
        raise ActionError("expected at least one call to choose from, got none")
    for space in spaces:
        for number, call in enumerate(read):
            if call not in space:
                raise ActionError(f"calls[{number}] is not in {space}: {call}")
    return read


def last_bytes(text: str, length: int) -> NDArray[np.uint8]:
    """Return the end of a text as ``uint8[length]``, UTF-8, padded with zeros."""
    tail = text.encode()[-length:]
    return np.frombuffer(tail.ljust(length, b"\0"), np.uint8).copy()
