"""Episodes for SkyRL-gym 0.4, whose environments take text and return text.

`TextEnvironment` has the methods of its ``BaseTextEnv``; skyrl_gym itself is not imported. A class
of the user inherits from both (examples/bridges/skyrl_environment.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.opening import load_built
from agentgym.env.portal import portal
from agentgym.errors import ActionError, ConfigError, VerifierError
from agentgym.gymnasium.registration import shared_provider
from agentgym.records import Verdict
from agentgym.train.bridges.text_calls import first_message, read_call

EXTRAS: Final = "extra_info"
"""The column of a data set in which SkyRL finds what an environment is told, beside the prompt."""

Messages = list[dict[str, str]]


class TextEnvironment:
    """One episode of a task; SkyRL makes an instance for each trajectory.

    The episode of a reply without a usable call ends and is judged as it stands.

    Args:
        env_config: The configuration of the environment, which is not used.
        extras: The row of the data set: ``extra_info`` has ``task`` and ``seed``, and may have
            ``sandbox`` and ``max_steps``.

    Raises:
        ConfigError: The row names no task or seed.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        told = (extras or {}).get(EXTRAS) or {}
        task, seed = told.get("task"), told.get("seed")
        if not isinstance(task, str) or type(seed) is not int or seed < 0:
            raise ConfigError(
                f"{EXTRAS}: expected a 'task' and a 'seed' from 0 on, got {told!r:.100}; "
                "make the data set with agentgym.train.bridges.skyrl.rows"
            )
        self._seed: int = seed
        self._environment = _environment(
            task, told.get("sandbox") or "bubblewrap", told.get("max_steps")
        )
        self._episode: Episode | None = None
        self._verdict: Verdict | None = None
        self._steps = self._illegal = 0

    def init(self, prompt: Messages) -> tuple[Messages, dict[str, Any]]:
        """Begin the episode.

        Args:
            prompt: The messages of the row; an empty text of the last one is replaced, another one
                stays in front.

        Returns:
            The messages with the instruction and the tools in the last one, and no information.

        Raises:
            AgentGymError: The episode cannot be started.
        """
        self._episode = portal().run(self._environment.start(self._seed))
        told = first_message(self._episode.first.text, self._environment.tools)
        *before, last = prompt or [{"role": "user", "content": ""}]
        text = "\n\n".join(filter(None, (last["content"], told)))
        return [*before, {**last, "content": text}], {}

    def step(self, action: str) -> dict[str, Any]:
        """Take a reply of the model.

        Args:
            action: Its text: one call as JSON.

        Returns:
            ``observations`` (messages; none at the end), ``reward`` (the score at the end, else
            0), ``done``, ``metadata`` and ``postprocessed_action``.

        Raises:
            ConfigError: `init` was not called, or the episode is over.
            VerifierError: The episode has no score. SkyRL knows no missing reward.
            AgentGymError: Another boundary broke.
        """
        if self._episode is None or self._verdict is not None:
            raise ConfigError("the episode is not live; call init on a new environment")
        text = ""
        try:
            call = read_call(action)
        except ActionError:
            self._illegal += 1
            self._verdict = portal().run(self._episode.finish())
        else:
            done = portal().run(self._episode.step(call))
            self._steps += 1
            self._verdict, text = done.verdict, done.observation.text
        if self._verdict is not None and not self._verdict.scored:
            raise VerifierError(f"the episode has no score: {self._verdict.status}")
        over = self._verdict is not None
        return {
            "observations": [] if over else [{"role": "user", "content": text}],
            "reward": self._verdict.score if self._verdict is not None else 0.0,
            "done": over,
            "metadata": {"task": self._environment.task.id, "seed": self._seed},
            "postprocessed_action": None,
        }

    def close(self) -> None:
        """End the episode; an environment may be closed twice."""
        episode, self._episode = self._episode, None
        if episode is not None:
            portal().run(episode.close())

    def get_metrics(self) -> dict[str, Any]:
        """Return the figures of the episode; SkyRL shows their means."""
        found = {"steps": self._steps, "unreadable_replies": self._illegal}
        if self._verdict is None:
            return found
        return {**found, "score": self._verdict.score, "passed": float(self._verdict.outcome)}


def rows(
    env_class: str, tasks: Sequence[str], seeds: Sequence[int], *, sandbox: str = "bubblewrap"
) -> list[dict[str, Any]]:
    """Return the rows of a data set for SkyRL: each task with each seed.

    Args:
        env_class: The name under which the environment is registered.
        tasks: Task ids, or paths of task folders.
        seeds: Seeds; SkyRL plays each row several times, as a group.
        sandbox: Name of the sandbox provider.
    """
    return [
        {
            "prompt": [{"role": "user", "content": ""}],
            "env_class": env_class,
            EXTRAS: {"task": task, "seed": seed, "sandbox": sandbox},
        }
        for task in tasks
        for seed in seeds
    ]


@cache
def _environment(task: str, sandbox: str, max_steps: int | None) -> Environment:
    """Make an environment once per process; it is closed when the process ends."""
    home = portal()
    made = Environment(load_built(task), shared_provider(home, sandbox), max_steps=max_steps)
    home.at_close(made.close)
    return made
