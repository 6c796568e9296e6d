"""Opening the environment of a task by name, with its sandbox provider, and closing both again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from agentgym import plugins
from agentgym.env.environment import Environment
from agentgym.env.resolved_task import build_task
from agentgym.protocols import SandboxProvider
from agentgym.sandbox.build.builder import Builds
from agentgym.task.load import find_task
from agentgym.task.model import Task
from agentgym.verify.judge.opening import open_judge


@asynccontextmanager
async def open_environment(
    task_id: str,
    *,
    sandbox: str | SandboxProvider = "bubblewrap",
    mcp: str | Mapping[str, Any] | None = None,
    max_steps: int | None = None,
    offline: bool = False,
    judge: str = "",
    user: str = "",
) -> AsyncIterator[Environment]:
    """Open the environment of a task, in which many episodes may be live at once.

    At the exit all episodes are ended, and so is the sandbox provider if it was made here.

    Example:
        >>> async def count_logs() -> str:
        ...     async with open_environment("terminal/log-forensics-v1") as environment:
        ...         episode = await environment.start(seed=7)
        ...         call = {"tool": "bash", "arguments": {"command": "ls /var/log | wc -l"}}
        ...         return (await episode.step(call)).observation.text

    Args:
        task_id: Such as ``"terminal/git-repair-v1"``, or the path of a task folder
            (``"./hello"``); what a folder in a foreign format needs is built first.
        sandbox: Name of a sandbox provider, or a provider, which stays open.
        mcp: An MCP server whose tools the agent gets beside the others: a command line, a URL, or
            the options of ``[surface.mcp]`` (docs/mcp.md).
        max_steps: Steps before an episode is cut off; None takes the task's own number.
        offline: Sandboxes have no network, whatever the task allows.
        judge: Decides what checks ask a judge, such as ``"openai:MODEL"``; empty: the one that
            AGENTGYM_JUDGE names.
        user: Plays the user of the task, if it has one, such as ``"openai:MODEL"``; empty: the one
            that AGENTGYM_USER names, else the script.

    Raises:
        NotFoundError: There is no task or sandbox provider of that name; offers the close match.
        ConfigError: Another argument is wrong.
        TaskError: The task is broken.
    """
    async with AsyncExitStack() as closing:
        provider = sandbox
        if isinstance(provider, str):
            provider = plugins.load("agentgym.sandboxes", provider)()
            closing.push_async_callback(provider.close)
        deciding = open_judge(judge) if judge else None

        def make() -> Environment:
            task = load_built(task_id, mcp)
            return Environment(
                *(task, provider),
                max_steps=max_steps,
                judge=deciding,
                offline=offline,
                user=user,
            )

        # Building an image and asking an MCP server for its tools wait for other processes.
        yield await closing.enter_async_context(await asyncio.to_thread(make))


def load_built(task_id: str, mcp: str | Mapping[str, Any] | None = None) -> Task:
    """Return a task with all that its sandboxes need, and with an MCP server if one is given.

    Raises:
        AgentGymError: There is no such task, or its image cannot be built.
    """
    task = find_task(task_id)
    if mcp is not None:
        task = task.with_options({"mcp": mcp_options(mcp)})
    if task.foreign is not None:
        with Builds(lambda line: None) as builds:
            build_task(task, builds, lambda line: None)
    return task


def mcp_options(server: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``[surface.mcp]`` table of a server: of its command line, its URL, or as it is."""
    if not isinstance(server, str):
        return dict(server)
    return {"url" if server.startswith(("http://", "https://")) else "command": server}
