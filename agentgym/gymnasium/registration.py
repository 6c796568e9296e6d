"""Making environments by task id; tasks that appear after the import are found, too."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import gymnasium

from agentgym import catalogue
from agentgym.errors import ConfigError
from agentgym.gymnasium.ids import spec_of

if TYPE_CHECKING:
    from agentgym.env.environment import Environment
    from agentgym.env.kept_states import KeptStates
    from agentgym.env.portal import Portal
    from agentgym.gymnasium.env import GymEnv
    from agentgym.gymnasium.recording import GymRecording
    from agentgym.protocols import SandboxProvider

_SANDBOX: Final = "bubblewrap"


def make(
    task_id: str | None = None,
    *,
    mcp: str | Mapping[str, Any] | None = None,
    instruction: str | None = None,
    answer: str | None = None,
    seed: int | None = None,
    sandbox: str = _SANDBOX,
    max_steps: int | None = None,
    user: str = "",
    render_mode: str | None = None,
    record: str | Path | None = None,
    record_as: str = "gym",
    keep_states: str | None = None,
    keep_states_mb: int | None = None,
    server: str | None = None,
    server_token: str = "",
) -> gymnasium.Env[dict[str, Any], dict[str, Any]]:
    """Make the environment of a task.

    Example:
        >>> env = make("terminal/log-forensics-v1", seed=3)
        >>> observation, info = env.reset()
        >>> action = {"tool": "bash", "arguments": {"command": "cd /tmp; pwd"}}
        >>> observation, reward, terminated, truncated, info = env.step(action)
        >>> observation["text"].split()
        ['/tmp']
        >>> env.close()

    Args:
        task_id: Such as ``"terminal/git-repair-v1"``, with or without the version, or the path of
            a task folder (``"./hello"``); what a folder in a foreign format needs is built first.
            None with `mcp` is an ad-hoc task, or a question if there are `instruction` and
            `answer`.
        mcp: An MCP server whose tools the agent gets beside those of the task's environment: a
            command line, started for each episode, or a URL; or the options of
            ``[surface.mcp]`` (docs/mcp.md), such as a prefix for the names of its tools.
        instruction: Instruction for the agent if `task_id` is None.
        answer: Expected answer if `task_id` is None; without it nothing is verified.
        seed: Seed of the first episode, where `reset` is not given one.
        sandbox: Name of the sandbox provider.
        max_steps: Steps before the episode is cut off; None takes the task's own number.
        user: Who plays the user of the task, if it has one, such as ``"openai:MODEL"``; empty:
            whom AGENTGYM_USER names, else the script.
        render_mode: ``"ansi"`` or None.
        record: Folder of a run in which the episodes are recorded (docs/record.md): a new one, or
            one that was made this way. Environments of one process may share it.
        record_as: Name of the agent in that run.
        keep_states: Episodes whose final states the run keeps, for ``agentgym regrade``: ``"all"``,
            ``"failed"`` or ``"none"``. None: as the run says, a new one keeps all.
        keep_states_mb: Largest size of these states together, in megabytes. None: as the run says,
            in a new one 1024.
        server: Address of an ``agentgym serve`` that plays and records the episodes, such as
            ``"ws://127.0.0.1:8765"`` (docs/server.md), or of a server of OpenEnv, such as
            ``"openenv+http://127.0.0.1:8000"`` (docs/bridges.md). The task is one of the server's,
            and may be None if it has one; its sandboxes, steps, users and records are the
            server's, too, so of the other arguments only `seed`, `render_mode` and `record_as` are
            taken.
        server_token: Token for the server. Empty: that of AGENTGYM_SERVE_TOKEN.

    Raises:
        ServerError: The server cannot be reached, or refuses.
        NotFoundError: No task or no sandbox provider of that name; offers the close match.
        ConfigError: Another argument is wrong, or `record` holds a run of another kind.
        RecordError: `record` cannot be written, or another process writes it.
    """
    from agentgym.env.environment import Environment
    from agentgym.env.kept_states import KeptStates
    from agentgym.env.opening import load_built
    from agentgym.env.portal import portal

    if server is not None:
        given = {
            "mcp": mcp is not None,
            "instruction": instruction is not None,
            "answer": answer is not None,
            "sandbox": sandbox != _SANDBOX,
            "max_steps": max_steps is not None,
            "user": user != "",
            "record": record is not None,
            "keep_states": keep_states is not None,
            "keep_states_mb": keep_states_mb is not None,
        }
        refuse_local(given)
        return _remote_env(server, server_token, task_id, record_as, seed, render_mode)
    kept = KeptStates(keep_states, keep_states_mb)
    kept.check(recorded=record is not None)
    task_id, mcp = _task_and_server(task_id, mcp, instruction, answer)
    task_id = catalogue.with_version(task_id)
    if record is not None and mcp is not None:
        raise ConfigError(
            "record: a run holds no mcp=, so the episodes could not be replayed; name the server "
            "in the [surface.mcp] table of the task, or leave the task out"
        )
    task, provider = load_built(task_id, mcp), shared_provider(portal(), sandbox)
    environment = Environment(task, provider, max_steps=max_steps, user=user)
    opening = {"agent": record_as, "sandbox": sandbox, "max_steps": max_steps, "kept": kept}
    env = _gym_env(task_id, environment, record, opening, seed=seed, render_mode=render_mode)
    env.spec = spec_of(
        task_id,
        mcp=mcp,
        seed=seed,
        sandbox=sandbox,
        max_steps=max_steps,
        user=user,
        render_mode=render_mode,
        **_recording_options(record, record_as, kept),
    )
    return env


def refuse_local(given: Mapping[str, bool]) -> None:
    """Refuse arguments that say how episodes are played here, beside a server that plays them.

    Args:
        given: Whether each of these arguments was given.

    Raises:
        ConfigError: One was given.
    """
    if wrong := [name for name, is_given in given.items() if is_given]:
        raise ConfigError(
            f"server: the server decides about {', '.join(wrong)}; leave that out here, and see "
            "agentgym serve --help"
        )


def _remote_env(
    server: str,
    token: str,
    task_id: str | None,
    record_as: str,
    seed: int | None,
    render_mode: str | None,
) -> GymEnv:
    from agentgym.gymnasium.remote import make_remote

    options = {"seed": seed, "render_mode": render_mode}
    env = make_remote(server, task_id or "", token=token, name=record_as, **options)  # type: ignore[arg-type]
    # The token stays out of it, because a specification is printed and stored.
    env.spec = spec_of(task_id or "remote", server=server, record_as=record_as, **options)
    env.spec.kwargs["task_id"] = task_id
    return env


def _task_and_server(
    task_id: str | None,
    mcp: str | Mapping[str, Any] | None,
    instruction: str | None,
    answer: str | None,
) -> tuple[str, str | Mapping[str, Any] | None]:
    """Return the task, and the MCP server beside it; a task made for a server holds it itself."""
    if task_id is None:
        return str(_free_play(mcp, instruction, answer)), None
    if instruction is not None or answer is not None:
        raise ConfigError("instruction and answer are the task's own; leave them out, or the task")
    return task_id, mcp


def _recording_options(
    record: str | Path | None, record_as: str, kept: KeptStates
) -> dict[str, object]:
    """Return the arguments of `make` about the record that differ from their defaults."""
    if record is None:
        return {}
    states = {name: value for name, value in asdict(kept).items() if value is not None}
    return {"record": str(record), "record_as": record_as} | states


def _gym_env(
    task_id: str,
    environment: Environment,
    record: str | Path | None,
    opening: Mapping[str, Any],
    **options: Any,
) -> GymEnv:
    """Make the Gymnasium class of an environment, with its record if there is one."""
    from agentgym.env.portal import portal
    from agentgym.gymnasium.env import GymEnv

    if record is None:
        return GymEnv(environment, **options)

    async def opened() -> GymRecording:
        from agentgym.gymnasium.recording import open_recordings

        (recording,) = await open_recordings(record, [(task_id, environment)], **opening)
        return recording

    recording = portal().run(opened())
    try:
        return GymEnv(environment, recording=recording, **options)
    except BaseException:
        portal().run(recording.close(""))
        raise


def _free_play(
    mcp: str | Mapping[str, Any] | None, instruction: str | None, answer: str | None
) -> Path:
    """Create the folder of a task around an MCP server that has no task of its own."""
    from agentgym.env.opening import mcp_options
    from agentgym.env.spec import load_env_spec
    from agentgym.task.adhoc import FREE, lay_down

    if mcp is None:
        raise ConfigError("make: expected a task id, or mcp='…' with the server to play with")
    if answer is not None and instruction is None:
        raise ConfigError("make: answer needs instruction, which asks for it")
    options = {"mcp": mcp_options(mcp)}
    if instruction is None:
        (kind,) = load_env_spec("mcp").with_options(options).make_surface_kinds()
        said: str = getattr(kind, "instructions", "")
        instruction = f"{FREE}\n{said}".strip()
    return lay_down("mcp", instruction=instruction, answer=answer, options=options)


@functools.cache
def shared_provider(home: Portal, name: str) -> SandboxProvider:
    """Make a sandbox provider once per process; it is closed when the process ends."""
    from agentgym import plugins

    provider = plugins.make_provider(name)
    home.at_close(provider.close)
    return provider
