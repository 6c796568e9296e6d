"""Opens environments on a server as the Gymnasium classes: ``make(server=…)`` of both kinds."""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from gymnasium.vector import AutoresetMode

from agentgym.catalogue import with_version
from agentgym.env.portal import Portal, portal
from agentgym.env.remote import wire
from agentgym.env.remote.address import TOKEN_VARIABLE, Address
from agentgym.env.remote.connection import RemoteSession
from agentgym.env.remote.environment import RemoteEnvironment, RemoteLabels
from agentgym.env.remote.openenv.address import PREFIX, OpenEnvAddress
from agentgym.env.remote.openenv.description import describe
from agentgym.env.remote.openenv.environment import OpenEnvEnvironment
from agentgym.errors import ConfigError, NotFoundError, ServerError
from agentgym.gymnasium.env import GymEnv
from agentgym.gymnasium.vector import TIMEOUT_S, VectorEnvironment

if TYPE_CHECKING:
    from agentgym.env.environment import Environment
    from agentgym.gymnasium.recording import GymRecording


def make_remote(
    server: str,
    task: str,
    *,
    token: str = "",
    name: str = "gym",
    seed: int | None = None,
    render_mode: str | None = None,
    call_s: float = TIMEOUT_S,
    trust: ssl.SSLContext | None = None,
) -> GymEnv:
    """Make the environment of a task on a server; see `agentgym.make`.

    Args:
        server: Address of the server; ``openenv+http://…`` for one of OpenEnv (docs/bridges.md).
        task: Name of the task; empty if the server has one.
        token: Token of an account; empty takes that of AGENTGYM_SERVE_TOKEN.
        name: Name under which the server records the episodes.
        seed: Seed of the first episode, where `reset` is not given one.
        render_mode: ``"ansi"`` or None.
        call_s: Seconds until a call without an answer fails.
        trust: Certificates to trust in place of the system's.

    Raises:
        ServerError: The server cannot be reached, or refuses.
        NotFoundError: It has no task of that name.
        ConfigError: Another argument is wrong.
    """
    if _is_openenv(server):
        (other,) = _open_openenv(OpenEnvAddress.parse(server, token, call_s, trust), [task])
        return GymEnv(_as_local(other), seed=seed, render_mode=render_mode)
    address = _address(server, token, name, call_s, trust)
    session, (environment,) = portal().run(open_environments(address, [task]))
    try:
        return GymEnv(
            _as_local(environment),
            seed=seed,
            render_mode=render_mode,
            recording=_labels(environment),
        )
    except BaseException:
        portal().run(session.leave())
        raise


def make_remote_vector(
    server: str,
    tasks: Sequence[str],
    *,
    token: str = "",
    name: str = "gym",
    seed: int | None = None,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    timeout_s: float = TIMEOUT_S,
) -> VectorEnvironment:
    """Make a vector environment on a server, all lanes in one session; see `agentgym.vector.make`.

    Args:
        server: Address of the server; ``openenv+http://…`` for one of OpenEnv (docs/bridges.md).
        tasks: Name of the task of each lane.
        token: Token of an account; empty takes that of AGENTGYM_SERVE_TOKEN.
        name: Name under which the server records the episodes.
        seed: Seed of the first lane's first episode.
        autoreset_mode: See `VectorEnvironment`.
        timeout_s: Seconds that one lane's reset or step may take.

    Raises:
        ServerError: The server cannot be reached, or refuses.
        NotFoundError: It has no task of one of the names.
        ConfigError: Another argument is wrong.
    """
    if _is_openenv(server):
        # The lane waits for as long, and ends the episode then.
        others = _open_openenv(OpenEnvAddress.parse(server, token, 2 * timeout_s), tasks)
        return VectorEnvironment(
            [_as_local(other) for other in others],
            seed=seed,
            autoreset_mode=autoreset_mode,
            timeout_s=timeout_s,
        )
    address = _address(server, token, name, timeout_s, None)
    session, environments = portal().run(open_environments(address, tasks))
    try:
        return VectorEnvironment(
            [_as_local(environment) for environment in environments],
            seed=seed,
            autoreset_mode=autoreset_mode,
            timeout_s=timeout_s,
            recordings=[_labels(environment) for environment in environments],
        )
    except BaseException:
        portal().run(session.leave())
        raise


async def open_environments(
    address: Address, tasks: Sequence[str]
) -> tuple[RemoteSession, list[RemoteEnvironment]]:
    """Begin a session, and describe the task of each lane.

    Raises:
        ServerError: The server cannot be reached, refuses, or tells no scores.
        NotFoundError: It has no task of one of the names.
    """
    session = await RemoteSession.open(address)
    try:
        welcome = session.welcome
        if welcome.tells == "nothing":
            raise ServerError(
                "untold", f"{address.url} tells no scores; start it with --tell score or verdict"
            )
        if len(tasks) > welcome.bounds.episodes:
            raise ServerError(
                "too_many",
                f"{address.url} lets a session play {welcome.bounds.episodes} episodes at the same "
                f"time; expected {len(tasks)} lanes: see --episodes",
            )
        told = {task: await _described(session, task) for task in dict.fromkeys(tasks)}
        made = [RemoteEnvironment(session, told[task]) for task in tasks]
    except BaseException:
        await session.leave()
        raise
    _open_at(portal()).add(session)
    return session, made


def _is_openenv(server: object) -> bool:
    return isinstance(server, str) and server.startswith(PREFIX)


def _open_openenv(address: OpenEnvAddress, tasks: Sequence[str]) -> list[OpenEnvEnvironment]:
    """Return an environment for each lane, on a server of OpenEnv.

    Raises:
        ServerError: The server cannot be reached, refuses, or has no usable action.
    """
    told = portal().run(describe(address))
    made = [OpenEnvEnvironment(address, told, task) for task in tasks]
    _open_at(portal()).update(made)
    return made


@functools.cache
def _open_at(home: Portal) -> weakref.WeakSet[RemoteSession | OpenEnvEnvironment]:
    """Return what is left when the process ends."""
    opened = weakref.WeakSet[RemoteSession | OpenEnvEnvironment]()

    async def end_all() -> None:
        await asyncio.gather(
            *(each.leave() if isinstance(each, RemoteSession) else each.close() for each in opened)
        )

    home.at_close(end_all)
    return opened


async def _described(session: RemoteSession, task: str) -> wire.TaskMessage:
    offered = session.welcome.tasks
    task = with_version(task, offered)
    if (task or len(offered) != 1) and task not in offered:
        hint = f"{session.address.url} offers {len(offered)} tasks: {', '.join(offered[:20])}"
        raise NotFoundError("task", task, offered, hint)
    message, _ = await session.call(wire.Describe, task=task)
    if not isinstance(message, wire.TaskMessage):
        raise ServerError("bad_message", f"expected a task, got {message.type}")
    return message


def _address(
    server: str, token: str, name: str, call_s: float, trust: ssl.SSLContext | None
) -> Address:
    if not isinstance(server, str):
        raise ConfigError(f"server: expected an address, got {server!r:.80}")
    token = token or os.environ.get(TOKEN_VARIABLE, "").strip()
    return Address(server, token, name, call_s, trust=trust)


def _as_local(environment: RemoteEnvironment | OpenEnvEnvironment) -> Environment:
    """Return an environment as the type that the Gymnasium classes name."""
    return cast("Environment", environment)


def _labels(environment: RemoteEnvironment) -> GymRecording:
    return cast("GymRecording", RemoteLabels(environment))
