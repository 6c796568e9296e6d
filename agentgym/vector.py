"""Vector environments by the names of tasks: many episodes at a time in one process.

The lanes follow the contract of `gymnasium.vector.VectorEnv`, Gymnasium 1.x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from gymnasium.vector import AutoresetMode

from agentgym import catalogue
from agentgym.env.environment import Environment
from agentgym.env.kept_states import KeptStates
from agentgym.env.opening import load_built
from agentgym.env.portal import portal
from agentgym.errors import ConfigError
from agentgym.gymnasium.recording import GymRecording, open_recordings
from agentgym.gymnasium.registration import refuse_local, shared_provider
from agentgym.gymnasium.vector import TIMEOUT_S, VectorEnvironment
from agentgym.sandbox.pool import PooledProvider, spare_memory_mb

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
    pool: int | None = None,
    record: str | Path | None = None,
    record_as: str = "gym",
    keep_states: str | None = None,
    keep_states_mb: int | None = None,
    server: str | None = None,
    server_token: str = "",
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
        timeout_s: Seconds that one lane's reset or step may take. An episode whose call takes
            longer ends and is judged; a lane whose reset takes longer ends unscored.
        pool: Largest number of sandboxes started ahead, which all lanes share; None: one for each
            lane, 0: none. An autoreset then takes a sandbox that is ready.
        record: Folder of a run in which the episodes of all lanes are recorded (docs/record.md):
            a new one, or one that was made this way. Other environments of the process may share
            it.
        record_as: Name of the agent in that run.
        keep_states: Episodes whose final states the run keeps, for ``agentgym regrade``: ``"all"``,
            ``"failed"`` or ``"none"``. None: as the run says, a new one keeps all.
        keep_states_mb: Largest size of these states together, in megabytes. None: as the run says,
            in a new one 1024.
        server: Address of an ``agentgym serve`` that plays and records the episodes of all lanes
            in one session; see `agentgym.make`. Of the other arguments only `seed`,
            `autoreset_mode`, `timeout_s` and `record_as` are taken.
        server_token: Token for the server. Empty: that of AGENTGYM_SERVE_TOKEN.

    Returns:
        The vector environment. An episode that cannot be scored ends its lane with
        ``infos["status"]`` and ``truncated``; a trainer must drop it.

    Raises:
        NotFoundError: No task or no sandbox provider of that name; offers the close match.
        ConfigError: Another argument is wrong, or `record` holds a run of another kind.
        RecordError: `record` cannot be written, or another process writes it.
    """
    lanes = _lanes(tasks, num_envs)
    if server is not None:
        given = {
            "sandbox": sandbox != "bubblewrap",
            "max_steps": max_steps is not None,
            "user": user != "",
            "pool": pool is not None,
            "record": record is not None,
            "keep_states": keep_states is not None,
            "keep_states_mb": keep_states_mb is not None,
        }
        refuse_local(given)
        from agentgym.gymnasium.remote import make_remote_vector

        return make_remote_vector(
            server,
            lanes,
            token=server_token,
            name=record_as,
            seed=seed,
            autoreset_mode=autoreset_mode,
            timeout_s=timeout_s,
        )
    kept = KeptStates(keep_states, keep_states_mb)
    kept.check(recorded=record is not None)
    provider, each = _environments(lanes, sandbox, pool, max_steps, user)
    make_lanes = partial(
        VectorEnvironment,
        [environment for _, environment in each],
        seed=seed,
        autoreset_mode=autoreset_mode,
        timeout_s=timeout_s,
        pool=provider,
    )
    if record is None:
        return make_lanes()
    opening = open_recordings(
        record, each, agent=record_as, sandbox=sandbox, max_steps=max_steps, kept=kept
    )
    return _recorded(make_lanes, portal().run(opening))


def _environments(
    lanes: Sequence[str], sandbox: str, pool: int | None, max_steps: int | None, user: str
) -> tuple[PooledProvider, list[tuple[str, Environment]]]:
    """Return the provider of all lanes, and for each lane the id of its task and its environment.

    Raises:
        NotFoundError: No task or no sandbox provider of that name.
        ConfigError: Another argument is wrong.
    """
    # The provider serves other environments of the process, too, so it stays open.
    provider = PooledProvider(
        shared_provider(portal(), sandbox),
        size=_ahead(pool, len(lanes)),
        memory_mb=spare_memory_mb(),
        owned=False,
    )
    ids = {name: catalogue.with_version(name) for name in dict.fromkeys(lanes)}
    made = {
        name: Environment(load_built(name), provider, max_steps=max_steps, user=user)
        for name in dict.fromkeys(ids.values())
    }
    return provider, [(ids[name], made[ids[name]]) for name in lanes]


def _lanes(tasks: str | Sequence[str], num_envs: int | None) -> list[str]:
    """Return the task of each lane.

    Raises:
        ConfigError: There is no task, or there are fewer lanes than tasks.
    """
    names = (
        [tasks] if isinstance(tasks, str) else list(tasks) if isinstance(tasks, Iterable) else []
    )
    count = len(names) if num_envs is None else num_envs
    if not names or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"tasks: expected one id of a task or several, got {tasks!r:.200}")
    if not isinstance(count, int) or isinstance(count, bool) or count < len(names):
        raise ConfigError(
            f"num_envs: expected at least one lane for each of {len(names)} tasks, got {num_envs!r}"
        )
    return [names[lane % len(names)] for lane in range(count)]


def _ahead(pool: int | None, lanes: int) -> int:
    """Return how many sandboxes are started ahead."""
    ahead = lanes if pool is None else pool
    if not isinstance(ahead, int) or isinstance(ahead, bool) or ahead < 0:
        raise ConfigError(f"pool: expected None or an integer from 0 on, got {pool!r}")
    return ahead


def _recorded(
    make_lanes: Callable[..., VectorEnvironment], recordings: Sequence[GymRecording]
) -> VectorEnvironment:
    """Make one whose episodes are recorded; the records are closed again if that fails."""

    async def closed() -> None:
        for recording in recordings:
            await recording.close("")

    try:
        return make_lanes(recordings=recordings)
    except BaseException:
        portal().run(closed())
        raise
