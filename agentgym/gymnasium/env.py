"""The Gymnasium class: one environment with one current episode, as plain synchronous calls.

Follows the Gymnasium 1.x `Env` contract as its `check_env` tests it; what an episode is, and
when it ends, is decided by `agentgym.env.episode`.
"""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Final

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from agentgym.env.labels import Labels, read_labels
from agentgym.env.outcome import why_unscored
from agentgym.env.portal import portal
from agentgym.env.seeds import is_seed, shown
from agentgym.errors import ConfigError, VerifierError
from agentgym.gymnasium.spaces import NO_IMAGE, ToolCallSpace, observation_space
from agentgym.records import Action, Json, Observation
from agentgym.surfaces.schemas import ToolForm, tool_schemas

if TYPE_CHECKING:
    from agentgym.env.environment import Environment
    from agentgym.env.episode import Episode
    from agentgym.env.transition import Transition
    from agentgym.gymnasium.recording import GymRecording

_SEEDS: Final = 2**31


class GymEnv(gymnasium.Env[dict[str, Any], dict[str, Json]]):
    """One task as a `gymnasium.Env`.

    Actions are tool calls, ``{"tool": "bash", "arguments": {"command": "ls"}}``; one that is
    not legal costs a step and is answered by an observation that says why. Observations are
    ``{"text": str, "image": uint8[H, W, 3], "data": dict}``, the first text is the instruction.
    The reward is the score, 0..1, on the last step and 0 before; ``info["verdict"]`` then says
    how it came about. Infos hold no clock readings, so equal episodes give equal infos.

    Args:
        environment: The environment to drive; it is closed with this one.
        seed: Seed of the first episode, where `reset` is not given one.
        render_mode: ``"ansi"`` makes `render` return the last text.
        recording: Records the episodes; it is closed with this one. None: nothing is recorded.

    Raises:
        ConfigError: `seed` is negative or no integer, or `render_mode` is unknown.

    Attributes:
        environment: The environment.
        episode: The current episode, None before the first reset.
        recording: Records the episodes, None if nothing is recorded.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}
    reward_range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __init__(
        self,
        environment: Environment,
        *,
        seed: int | None = None,
        render_mode: str | None = None,
        recording: GymRecording | None = None,
    ) -> None:
        if seed is not None and not is_seed(seed):
            raise ConfigError(f"seed: expected None or an integer from 0 on, got {shown(seed)}")
        if render_mode not in (None, "ansi"):
            raise ConfigError(f"unknown render_mode {render_mode!r}; expected 'ansi' or None")
        self.environment = environment
        self.render_mode = render_mode
        self.action_space = ToolCallSpace(environment.tools)
        self.observation_space = observation_space(environment.observation_limits)
        self.episode: Episode | None = None
        self._portal = portal()
        self.recording = recording
        end = functools.partial(_end, environment, recording)
        self._abandoned = weakref.finalize(self, self._portal.start, end)
        self._abandoned.atexit = False  # the providers close all sandboxes then
        self._seed = None if seed is None else int(seed)
        self._text: str | None = None
        self._running = False
        self._closed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: Seed of this episode, which decides the instance of a template task. Without
                one the next is drawn from `np_random`, so a seeded run stays reproducible.
            options: ``group`` and ``metadata`` of an episode that is recorded (docs/record.md);
                anything else is refused, and so are these two if nothing is recorded.

        Returns:
            The first observation, and an info with ``task``, ``seed``, ``params`` and
            ``instruction``.

        Raises:
            ConfigError: An option is wrong.
            RecordError: The episode cannot be recorded.
        """
        if self._closed:
            raise ClosedEnvironmentError("this environment is closed: make a new one")
        labels = self._labels(options or {})
        if seed is None and self._np_random is None:
            seed = self._seed
        super().reset(seed=seed)
        if seed is None:
            seed = int(self.np_random.integers(_SEEDS))
        self._running = False
        episode = self._portal.run(self._restart(seed, labels))
        self._running = True
        info = {**describe(episode), "instruction": episode.first.text}
        return self._observe(episode.first), info

    def _labels(self, options: Mapping[str, Any]) -> Labels | None:
        if self.recording is not None:
            return read_labels(options)
        if options:
            told = ", ".join(map(repr, options))
            raise ConfigError(
                f"reset takes no options, got {told}; an environment that is made with "
                "record='FOLDER' takes 'group' and 'metadata'"
            )
        return None

    async def _restart(self, seed: int, labels: Labels | None) -> Episode:
        if self.episode is not None:
            await self.episode.close()
        if self.recording is None or labels is None:
            self.episode = await self.environment.start(seed)
        else:
            await self.recording.abandon("reset before its end")
            starting = self.environment.start(seed)
            self.episode = await self.recording.start(starting, seed, labels)
        return self.episode

    def step(
        self, action: Mapping[str, Json] | Action
    ) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Make a tool call.

        Returns:
            Observation, reward, terminated, truncated, and an info with ``task``, ``seed``,
            ``params``, ``effect`` and, on the last step, ``verdict``.

        Raises:
            gymnasium.error.ResetNeeded: No episode is running.
            VerifierError: The task's own checks are broken: there is no reward to give, and
                zero would be a lie.
            RecordError: The step cannot be recorded.
        """
        episode = self.episode
        if not self._running or episode is None:
            why = "the episode has ended" if self._text is not None else "none has begun"
            raise ResetNeeded(f"there is no episode to step, {why}: call reset() first")
        self._running = False  # a step that raises has broken the episode
        done = self._portal.run(self._step(episode, action))
        self._running = not (done.terminated or done.truncated)
        info = {**describe(episode), "effect": done.observation.effect.value}
        if done.verdict is not None:
            if not done.verdict.scored:
                raise VerifierError(why_unscored(done.verdict))
            info["verdict"] = plain(asdict(done.verdict))
        observation = self._observe(done.observation)
        return observation, float(done.reward), done.terminated, done.truncated, info

    async def _step(self, episode: Episode, action: object) -> Transition:
        if self.recording is None:
            return await episode.step(action)
        return await self.recording.step(episode.step(action))

    def tool_schemas(self, form: ToolForm = "openai") -> list[dict[str, Any]]:
        """Return all tools as the ``tools`` parameter of a model's API; see `Environment`."""
        return tool_schemas(self.environment.tools, form)

    def render(self) -> str | None:
        """Return the last text when the render mode is ``"ansi"``, else None."""
        if self.render_mode is None:
            return None
        if self._text is None:
            raise ResetNeeded("there is nothing to render yet: call reset() first")
        return self._text

    def close(self) -> None:
        """End the episode and its sandbox; may be called twice.

        Raises:
            RecordError: The end of the episode cannot be recorded.
        """
        self._abandoned.detach()
        closed, self._closed, self._running = self._closed, True, False
        if not closed and not self._portal.closed:
            self._portal.run(_end(self.environment, self.recording))

    def _observe(self, observation: Observation) -> dict[str, Any]:
        self._text = observation.text
        found = element(observation)
        if observation.image is not None:
            # The caller may change its picture, and the episode keeps this one for a judge.
            found["image"] = observation.image.copy()
        return found


async def _end(environment: Environment, recording: GymRecording | None) -> None:
    await environment.close()
    if recording is not None:
        await recording.close("closed before its end")


def describe(episode: Episode) -> dict[str, Any]:
    """Return what every info says of an episode: task, seed and parameters."""
    instance = episode.instance
    return {
        "task": episode.environment.task.id,
        "seed": instance.seed,
        "params": plain(instance.params),
    }


def element(observation: Observation) -> dict[str, Any]:
    """Return an observation as an element of `observation_space`."""
    image = np.zeros(NO_IMAGE, np.uint8) if observation.image is None else observation.image
    return {"text": observation.text, "image": image, "data": plain(observation.data)}


def plain(value: object) -> Any:
    """Return a fresh copy made of dicts, lists and scalars only."""
    return json.loads(json.dumps(value, default=dict))
