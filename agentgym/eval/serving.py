"""Serves a run whose episodes are played by remote clients, and records it."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from agentgym import __version__, catalogue, plugins
from agentgym.env.environment import Environment
from agentgym.env.recording import end_abandoned
from agentgym.errors import ConfigError, NotFoundError, SandboxError
from agentgym.eval.plan import check, holds_run, listed, with_company
from agentgym.eval.requirements import build_images_of, used_fallbacks
from agentgym.eval.settings import Settings, read_settings
from agentgym.record.store import RunStore
from agentgym.rollout.trust import isolates
from agentgym.session.config import SessionConfig
from agentgym.session.server import SessionServer
from agentgym.task.adhoc import lay_down
from agentgym.task.load import find_task
from agentgym.verify.judge.opening import open_judge

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options for serving remote clients.

    Attributes:
        idle_s: Seconds between two calls after which an episode is judged in its present state.
        tell: Whether clients get their verdict at the end.
        listening: Address of streamable HTTP; None for stdio.
        token: Token that HTTP clients must send; if empty, every user of the machine can play.
    """

    idle_s: float = 600.0
    tell: bool = False
    listening: socket.socket | None = None
    token: str = ""


def find_target(name: str) -> str:
    """Return the id, or the path, of the task with a name; an environment is an ad-hoc task.

    Raises:
        NotFoundError: No task or environment has the name.
        ConfigError: The name matches several tasks.
    """
    if catalogue.path_of(name) is None and name in catalogue.folders("envs"):
        return str(lay_down(name))
    try:
        found = catalogue.match_tasks(name)
    except NotFoundError:
        known = [*catalogue.folders("envs"), *catalogue.folders("tasks")]
        hint = "give a task id, the path of a task folder, or an environment: agentgym list envs"
        raise NotFoundError("task or environment", name, known, hint) from None
    if len(found) > 1:
        raise ConfigError(f"{name!r} means {len(found)} tasks; name one, e.g. {found[0]}")
    return found[0]


def open_run(folder: Path, settings: Settings) -> RunStore:
    """Open the run that records remote clients: a new one, or one served with equal options.

    Clients start a server with one command line again and again, so a run grows.

    Args:
        folder: Folder of the run.
        settings: Settings of the run; it has no agents.

    Raises:
        ConfigError: The run cannot start, or the folder holds another run.
        RecordError: Another process writes the run.
    """
    settings = with_company(settings)
    if problems := check(settings):
        raise ConfigError(listed(problems))
    settings = replace(settings, isolated=isolates(settings.sandbox))
    if not holds_run(folder):
        started = datetime.now(UTC).isoformat(timespec="seconds")
        settings = replace(settings, agentgym=__version__, started=started)
        return RunStore.create(folder, asdict(settings), [])
    store = RunStore.open(folder, readonly=False)
    kept = read_settings(store)
    # These say when and with what it was recorded; the others are options.
    same = replace(
        settings,
        agentgym=kept.agentgym,
        started=kept.started,
        image_fallbacks=kept.image_fallbacks,
    )
    if kept == same:
        # The run has one writer, so what is not over was played by a process that was killed.
        end_abandoned(store, lambda row: True)
        return store
    store.close()
    raise ConfigError(
        f"{folder} holds a run of another task, or with other options; choose another with --out"
    )


@asynccontextmanager
async def open_environments(
    store: RunStore, tell: Tell = lambda line: None
) -> AsyncIterator[Mapping[str, Environment]]:
    """Open the environments of a run's tasks, and close them with their sandbox provider.

    Args:
        store: The run, as opened by `open_run`.
        tell: Called with the progress of image builds.

    Returns:
        The environments, by the names of their tasks in the run.

    Raises:
        AgentGymError: A task is broken, or its image cannot be built.
    """
    settings = read_settings(store)
    tasks = {n: find_task(n).with_surfaces(settings.surfaces) for n in settings.tasks}
    if failed := build_images_of(tasks.values(), tell):
        raise SandboxError("\n".join(failed.values()))
    if used := used_fallbacks(settings.tasks):
        store.amend("image_fallbacks", {**settings.image_fallbacks, **used})
    judge = open_judge(settings.judge) if settings.judge else None
    async with AsyncExitStack() as closing:
        provider = plugins.make_provider(settings.sandbox)
        closing.push_async_callback(provider.close)
        environments: dict[str, Environment] = {}
        for name, task in tasks.items():
            environments[name] = await closing.enter_async_context(
                Environment(
                    task,
                    provider,
                    max_steps=settings.max_steps,
                    judge=judge,
                    offline=settings.offline,
                    user=settings.user,
                )
            )
        yield environments


async def serve_mcp(store: RunStore, options: ServeOptions, tell: Tell) -> None:
    """Serve until the client leaves, or a signal arrives; then every episode is recorded.

    Args:
        store: The run of one task, as opened by `open_run`.
        options: Options for serving.
        tell: Called with build progress, and the address.

    Raises:
        AgentGymError: The task's image cannot be built.
    """
    from agentgym.session.mcp import McpAdapter
    from agentgym.session.serve import serve_http, serve_stdio

    settings, ending = read_settings(store), asyncio.Event()
    (name,) = settings.tasks
    async with open_environments(store, tell) as environments:
        config = SessionConfig(
            environments,
            store,
            seed=settings.seed,
            may_fork=False,
            tell=options.tell,
            timeout_s=settings.timeout_s,
            idle_s=options.idle_s,
            max_episodes=1,
        )
        instruction = environments[name].task.instance(settings.seed).instruction
        adapter = McpAdapter(SessionServer(config), instruction)
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, ending.set)
        if options.listening is None:
            await serve_stdio(adapter, ending)
            return

        def tell_address(url: str) -> None:
            tell(f"serving {name} at {url}")

        await serve_http(adapter, options.listening, ending, tell_address, options.token)
