"""Many episodes at a time as a `gymnasium.vector.VectorEnv`, in one process.

Follows the `VectorEnv` contract of Gymnasium 1.x: autoreset modes, reset masks and batched infos
are those of its `SyncVectorEnv`. The lanes of a step are awaited together on one event loop.
"""

from __future__ import annotations

import asyncio
import functools
import weakref
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.spaces import Tuple
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array
from numpy.typing import NDArray

from agentgym.env.labels import Labels
from agentgym.env.portal import portal
from agentgym.env.seeds import is_seed, shown
from agentgym.errors import ConfigError, RecordError
from agentgym.gymnasium.lane import GRACE_S, Lane, LaneResult
from agentgym.gymnasium.lookahead import LookAhead
from agentgym.gymnasium.spaces import ToolCallSpace, observation_space
from agentgym.gymnasium.vector_arguments import (
    read_actions,
    read_lanes,
    read_mode,
    read_options,
    read_seeds,
)
from agentgym.gymnasium.vector_infos import make_room
from agentgym.records import ObservationLimits
from agentgym.sandbox.pool import PooledProvider

if TYPE_CHECKING:
    from agentgym.env.environment import Environment
    from agentgym.env.episode import Episode
    from agentgym.gymnasium.recording import GymRecording

TIMEOUT_S: Final = 900.0

Work: TypeAlias = Callable[[], Coroutine[Any, Any, "tuple[LaneResult, LaneResult | None]"]]


class VectorEnvironment(VectorEnv[dict[str, Any], Sequence[Any], NDArray[Any]]):
    """Episodes that run at the same time, one a lane.

    `agentgym.vector.make` makes one by the names of tasks. Each lane behaves as a `GymEnv` does:
    the same seeds lead to the same episodes, observations, rewards and infos.

    An episode that cannot be scored ends its lane and raises nothing: the sandbox died, a check
    is broken, or another boundary failed. Its row has ``truncated``, a reward of 0.0 which means
    nothing, ``infos["status"]`` such as ``"error:sandbox"``, ``infos["scored"]`` False and
    ``infos["error"]`` with the reason. **A trainer must drop that episode**: to learn from the
    0.0 is to learn from an accident. If the start of an episode fails, the reset's infos say so,
    and the lane's next step is the truncated one. Every other end has the status ``"scored"``.

    Args:
        environments: One environment for all lanes, or one for each lane; an environment may
            stand for several lanes. They are closed with this one.
        num_envs: How many lanes there are; None: as many as there are environments.
        seed: Seed of the first lane's first episode, where `reset` is not given one; the next
            lane has the next number.
        autoreset_mode: When a lane whose episode has ended begins again, as Gymnasium names it:
            ``"NextStep"``, ``"SameStep"`` (the end is in ``infos["final_obs"]`` and
            ``infos["final_info"]``) or ``"Disabled"``.
        timeout_s: Seconds that one lane's reset or step may take, the judgement included. If a
            call of the agent takes longer, its episode ends and is judged as it stands. A reset
            that takes longer ends it unscored with ``"error:sandbox"``, and so does a user or a
            judgement that takes longer than this and five minutes.
        pool: The provider of the environments, if it starts sandboxes ahead: it is told of the
            lanes' next episodes, and is closed with this vector environment.
        recordings: Record the episodes, one for each lane; they are closed with this vector
            environment. Empty: nothing is recorded.

    Raises:
        ConfigError: An argument is wrong.

    Attributes:
        autoreset_mode: As given.
        environments: The environment of each lane.
        recordings: The recording of each lane; empty if nothing is recorded.
    """

    def __init__(
        self,
        environments: Environment | Sequence[Environment],
        num_envs: int | None = None,
        *,
        seed: int | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        timeout_s: float = TIMEOUT_S,
        pool: PooledProvider | None = None,
        recordings: Sequence[GymRecording] = (),
    ) -> None:
        each = read_lanes(environments, num_envs)
        if recordings and len(recordings) != len(each):
            raise ConfigError(f"expected {len(each)} recordings, got {len(recordings)}")
        if seed is not None and not is_seed(seed):
            raise ConfigError(f"seed: expected None or an integer from 0 on, got {shown(seed)}")
        if not isinstance(timeout_s, int | float) or not timeout_s > 0:
            raise ConfigError(f"timeout_s: expected a positive number, got {timeout_s!r}")
        self.autoreset_mode = read_mode(autoreset_mode)
        self.metadata = {"autoreset_mode": self.autoreset_mode}
        self.num_envs, self.environments = len(each), each
        limits = functools.reduce(_widest, [one.observation_limits for one in each])
        space = observation_space(limits)
        self.single_observation_space = space
        self.observation_space = batch_space(space, self.num_envs)
        # Where tasks differ, each lane's actions are calls of its own tools.
        self.single_action_space = ToolCallSpace(each[0].tools)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        if any(one.tools != each[0].tools for one in each):
            self.action_space = Tuple([ToolCallSpace(one.tools) for one in each])
        self.recordings = tuple(recordings)
        self._lanes = [
            Lane(
                *(one, space, timeout_s),
                recording=recording,
                look_ahead=_look_ahead(one, pool, self.autoreset_mode),
            )
            for one, recording in zip(each, self.recordings or (None,) * len(each), strict=True)
        ]
        self._seed, self._begun = seed, False
        self._portal = portal()
        closing = functools.partial(_close, tuple(self._lanes), pool)
        self._close_all = closing
        self._abandoned = weakref.finalize(self, self._portal.start, closing)
        self._abandoned.atexit = False  # the providers close all sandboxes then

    @property
    def episodes(self) -> tuple[Episode | None, ...]:
        """The current or last episode of each lane."""
        return tuple(lane.episode for lane in self._lanes)

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators that the lanes draw the seeds of later episodes from."""
        return tuple(lane.np_random for lane in self._lanes)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of these generators."""
        return tuple(lane.np_random_seed for lane in self._lanes)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode in all lanes, or in those of a mask.

        Args:
            seed: The seed of the first lane, the next has the next number; or one for each lane.
                A lane without one draws it from its own generator.
            options: ``{"reset_mask": bool[num_envs]}`` begins episodes in these lanes only; the
                others keep theirs and their last observation. If the episodes are recorded,
                ``group`` and ``metadata`` label those that this reset begins (docs/record.md):
                one value for all lanes, or one for each.

        Returns:
            The batched observations, and the infos of the lanes that began.

        Raises:
            ValueError: There are too few or too many seeds or labels, or the mask has another
                shape or chooses no lane.
            TypeError: The mask is no array of bool.
            ConfigError: A seed is no integer from 0 on, or an option is unknown or wrong.
            gymnasium.error.ResetNeeded: The mask leaves out a lane that has no episode.
        """
        self._must_be_open()
        chosen = read_options(options, self.num_envs, recorded=bool(self.recordings))
        mask = chosen.mask
        seeds = read_seeds(self._seed if seed is None else seed, self.num_envs)
        if not mask.all() and not self._begun:
            raise ResetNeeded("a lane outside of reset_mask has no episode: reset all lanes first")
        works = [
            functools.partial(self._begin, lane, one, labels)
            if begins
            else functools.partial(_wait, lane)
            for lane, one, labels, begins in zip(
                self._lanes, seeds, chosen.labels, mask, strict=True
            )
        ]
        observations, *_, infos = self._batch(self._run(works))
        self._seed = None
        return observations, infos

    def step(
        self, actions: Sequence[Any]
    ) -> tuple[
        dict[str, Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        """Make one call in each lane, all at the same time.

        Args:
            actions: A tool call or an `Action` for each lane. With autoreset disabled, a lane
                with None waits: its row repeats the last observation, with a reward of 0, no
                end and no info. In the other modes None is an illegal action, as any junk is,
                and the action of a lane that begins again is ignored.

        Returns:
            Batched observations, rewards ``float64[num_envs]``, terminations and truncations
            ``bool[num_envs]``, and infos with a mask ``_key`` for each key. On the last step of
            an episode they have ``status`` and ``scored``, and ``verdict`` if it is scored. Drop
            the episodes that are not scored.

        Raises:
            ValueError: There are too few or too many actions.
            TypeError: The actions are no sequence.
            gymnasium.error.ResetNeeded: A lane has no episode. Nothing is done in any lane then.
        """
        self._must_be_open()
        given = read_actions(actions, self.num_envs)
        if not self._begun:
            raise ResetNeeded("there are no episodes to step: call reset() first")
        if self.autoreset_mode is AutoresetMode.DISABLED:
            ended = [
                number
                for number, (lane, action) in enumerate(zip(self._lanes, given, strict=True))
                if not lane.running and action is not None
            ]
            if ended:
                raise ResetNeeded(
                    f"the episodes of lanes {ended} have ended: reset them with "
                    "options={'reset_mask': ...}, or give them None to let them wait"
                )
        works = [
            functools.partial(self._advance, lane, action)
            for lane, action in zip(self._lanes, given, strict=True)
        ]
        return self._batch(self._run(works))

    def close_extras(self) -> None:
        """End all episodes and close the environments.

        Raises:
            RecordError: The end of an episode cannot be recorded.
        """
        self._abandoned.detach()
        self._begun = False
        if not self._portal.closed:
            self._portal.run(self._close_all())

    async def _begin(self, lane: Lane, seed: int | None, labels: Labels) -> tuple[LaneResult, None]:
        return await lane.reset(seed, labels), None

    async def _advance(self, lane: Lane, action: object) -> tuple[LaneResult, LaneResult | None]:
        """Return the row of a lane, and the end of the episode if another one began in it."""
        if self.autoreset_mode is AutoresetMode.DISABLED and action is None:
            return lane.wait(), None
        if not lane.running:
            return await lane.reset(), None
        result = await lane.step(action)
        if self.autoreset_mode is not AutoresetMode.SAME_STEP or not result.over:
            return result, None
        begun = await lane.reset()
        return replace(result, observation=begun.observation, info=begun.info), result

    def _run(self, works: Sequence[Work]) -> list[tuple[LaneResult, LaneResult | None]]:
        self._begun = False  # an interruption breaks all episodes
        results = self._portal.run(_together(self._lanes, works))
        self._begun = True
        return results

    def _batch(
        self, results: Iterable[tuple[LaneResult, LaneResult | None]]
    ) -> tuple[
        dict[str, Any], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        rows: list[LaneResult] = []
        infos: dict[str, Any] = {}
        for number, (row, ended) in enumerate(results):
            if ended is not None:
                final = {"final_obs": ended.observation, "final_info": ended.info}
                infos = self._add_info(infos, final, number)
            infos = self._add_info(infos, row.info, number)
            rows.append(row)
        space = self.single_observation_space
        empty = cast("dict[str, Any]", create_empty_array(space, self.num_envs))
        observations = concatenate(space, [row.observation for row in rows], empty)
        return (
            cast("dict[str, Any]", observations),
            np.array([row.reward for row in rows], np.float64),
            np.array([row.terminated for row in rows], np.bool_),
            np.array([row.truncated for row in rows], np.bool_),
            infos,
        )

    def _add_info(
        self, vector_infos: dict[str, Any], env_info: dict[str, Any], env_num: int
    ) -> dict[str, Any]:
        for key, value in env_info.items():
            if key != "final_obs":
                make_room(vector_infos, key, value, self.num_envs)
            held = vector_infos.get(key)
            if isinstance(value, dict) and isinstance(held, np.ndarray) and key != "final_obs":
                held[env_num] = value
                vector_infos[f"_{key}"][env_num] = True
            else:
                super()._add_info(vector_infos, {key: value}, env_num)
        return vector_infos

    def _must_be_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("this environment is closed: make a new one")


async def _wait(lane: Lane) -> tuple[LaneResult, None]:
    return lane.wait(), None


async def _together(
    lanes: Sequence[Lane], works: Sequence[Work]
) -> list[tuple[LaneResult, LaneResult | None]]:
    """Do all at the same time. An interruption cancels all of it and ends all episodes."""
    tasks = [asyncio.ensure_future(work()) for work in works]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await asyncio.gather(*(lane.leave("interrupted") for lane in lanes))
        raise


async def _close(lanes: Sequence[Lane], pool: PooledProvider | None) -> None:
    """Close what the lanes use. What does not close in time goes on to do so in the background.

    Raises:
        RecordError: The end of an episode cannot be recorded.
    """
    await asyncio.gather(*(lane.close() for lane in lanes))
    environments = dict.fromkeys(lane.environment for lane in lanes)
    closing = [asyncio.ensure_future(one.close()) for one in environments]
    if pool is not None:
        closing.append(asyncio.ensure_future(pool.close()))
    await asyncio.wait(closing, timeout=10 * GRACE_S)
    unrecorded: list[RecordError] = []
    for recording in (lane.recording for lane in lanes if lane.recording is not None):
        try:
            await recording.close("closed before its end")
        except RecordError as error:
            unrecorded.append(error)
    if unrecorded:
        raise unrecorded[0]


def _look_ahead(
    environment: Environment, pool: PooledProvider | None, mode: AutoresetMode
) -> LookAhead | None:
    """Return what prepares the next episode of a lane, None if its start cannot be known."""
    if pool is None or environment.provider is not pool:
        return None
    if mode is AutoresetMode.DISABLED and environment.task.manifest.params:
        # The caller chooses the seed, and every seed has a setup of its own.
        return None
    return LookAhead(environment, pool)


def _widest(one: ObservationLimits, other: ObservationLimits) -> ObservationLimits:
    """Return limits under which the observations of both fit."""
    return ObservationLimits(
        max(one.text_bytes, other.text_bytes),
        max(one.data_bytes, other.data_bytes),
        max(one.image_width, other.image_width),
        max(one.image_height, other.image_height),
    )
