"""Opens the environment of a task by name, with its sandbox provider, and closes both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from agentgym import plugins
from agentgym.env.environment import Environment
from agentgym.env.resolved_task import build_task
from agentgym.protocols import SandboxProvider
from agentgym.sandbox.build.builder import Builds
from agentgym.task.load import find_task
from agentgym.task.model import Task
from agentgym.threads import to_thread
from agentgym.verify.judge.opening import open_judge


@asynccontextmanager
async def open_environment(
    task_id: str,
    *,
    sandbox: str | SandboxProvider = "bubblewrap",
    mcp: str | Mapping[str, Any] | None = None,
    max_steps: int | None = None,
    surfaces: Sequence[str] = (),
    offline: bool = False,
    judge: str = "",
    user: str = "",
) -> AsyncIterator[Environment]:
    """Open the environment of a task, in which many episodes may be live at once.

    The exit ends all episodes, and closes the sandbox provider if this function created it.

    Example:
        >>> async def count_logs() -> str:
        ...     async with open_environment("terminal/log-forensics-v1") as environment:
        ...         episode = await environment.start(seed=7)
        ...         call = {"tool": "bash", "arguments": {"command": "ls /var/log | wc -l"}}
        ...         return (await episode.step(call)).observation.text

    Args:
        task_id: Id such as ``"terminal/git-repair-v1"``, or the path of a task folder
            (``"./hello"``); a folder in a foreign format is built first if needed.
        sandbox: Name of a sandbox provider, or a provider, which stays open.
        mcp: An MCP server with additional tools for the agent: a command line, a URL, or the
            options of ``[surface.mcp]`` (docs/mcp.md).
        max_steps: Largest number of steps in an episode; None for the task's own.
        surfaces: Surfaces that agents act through, instead of those of the task's environment.
        offline: Whether sandboxes have no network, whatever the task allows.
        judge: Spec of the judge for checks that need one, such as ``"openai:MODEL"``; empty for
            the judge that AGENTGYM_JUDGE names.
        user: Spec of the simulated user, if the task has one, such as ``"openai:MODEL"``; empty
            for the user that AGENTGYM_USER names, else the script.

    Raises:
        NotFoundError: The task or sandbox provider is unknown; the message names a close match.
        ConfigError: Another argument is wrong.
        TaskError: The task is broken.
    """
    async with AsyncExitStack() as closing:
        provider = sandbox
        if isinstance(provider, str):
            provider = plugins.make_provider(provider)
            closing.push_async_callback(provider.close)
        deciding = open_judge(judge) if judge else None

        def make() -> Environment:
            task = load_built(task_id, mcp).with_surfaces(surfaces)
            return Environment(
                *(task, provider),
                max_steps=max_steps,
                judge=deciding,
                offline=offline,
                user=user,
            )

        # Building an image and asking an MCP server for its tools wait for other processes.
        yield await closing.enter_async_context(await to_thread(make))


def load_built(task_id: str, mcp: str | Mapping[str, Any] | None = None) -> Task:
    """Return a task, built if needed, and with an MCP server if one is given.

    Raises:
        AgentGymError: The task is unknown, or its image cannot be built.
    """
    task = find_task(task_id)
    if mcp is not None:
        task = task.with_options({"mcp": mcp_options(mcp)})
    if task.foreign is not None:
        with Builds(lambda line: None) as builds:
            build_task(task, builds, lambda line: None)
    return task


def mcp_options(server: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``[surface.mcp]`` table for a command line, a URL or given options."""
    if not isinstance(server, str):
        return dict(server)
    return {"url" if server.startswith(("http://", "https://")) else "command": server}
