"""A run whose episodes are played from outside: what is served, its record, its end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from agentgym import __version__, catalogue, plugins
from agentgym.env.environment import Environment
from agentgym.errors import ConfigError, NotFoundError, SandboxError
from agentgym.eval.needs import build_images_of
from agentgym.eval.plan import check, holds_run
from agentgym.eval.settings import Settings
from agentgym.protocols import SandboxProvider
from agentgym.record.store import RunStore
from agentgym.records import Capability
from agentgym.rollout.mcp import Reception
from agentgym.rollout.serve import serve_http, serve_stdio
from agentgym.rollout.visit import Venue
from agentgym.task.freeplay import lay_down
from agentgym.task.load import find_task
from agentgym.verify.judge.opening import open_judge

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms guests are served.

    Attributes:
        task: Id of the task, or the path of its folder.
        sandbox: Name of the sandbox provider.
        seed: Seed of every episode.
        max_steps: Bound on an episode's steps, None for the task's own.
        timeout_s: Wall time of an episode, None for the task's own.
        idle_s: Seconds between two calls after which an episode is judged as it stands.
        judge: Spec of who decides what checks ask a judge; empty for whom AGENTGYM_JUDGE names.
        tell: Guests hear at the end how they were judged.
        port: Of streamable HTTP, 0 for any that is free; None for stdio.
    """

    task: str
    sandbox: str = "bubblewrap"
    seed: int = 0
    max_steps: int | None = None
    timeout_s: float | None = None
    idle_s: float = 600.0
    judge: str = ""
    tell: bool = False
    port: int | None = None


def find_target(name: str) -> str:
    """Return the id, or the path, of the task that a user means; an environment is free play.

    Raises:
        NotFoundError: Nothing has that name.
        ConfigError: Several tasks are meant.
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


def open_run(folder: Path, terms: Terms) -> RunStore:
    """Lay down the run that guests are recorded in, once all that it needs is there.

    Raises:
        ConfigError: Something cannot run; the message names every problem.
    """
    if holds_run(folder):
        raise ConfigError(f"{folder} already holds a run; choose another folder with --out")
    provider: SandboxProvider = plugins.load("agentgym.sandboxes", terms.sandbox)()
    settings = Settings(
        tasks=(terms.task,),
        agents=(),
        seed=terms.seed,
        sandbox=terms.sandbox,
        max_steps=terms.max_steps,
        timeout_s=terms.timeout_s,
        judge=terms.judge,
        agentgym=__version__,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        isolated=Capability.ISOLATION in provider.capabilities,
    )
    if problems := check(settings):
        raise ConfigError("\n".join(problems))
    return RunStore.create(folder, asdict(settings), [])


async def serve(store: RunStore, terms: Terms, tell: Tell) -> None:
    """Serve until the client leaves, or a signal comes; then every episode is recorded.

    Args:
        store: The run.
        terms: What is served, and how.
        tell: Hears what is built, and the address.

    Raises:
        AgentGymError: The task's image cannot be built, or the port is taken.
    """
    task = find_task(terms.task)
    if failed := build_images_of([task], tell):
        raise SandboxError(failed[task.id])
    provider: SandboxProvider = plugins.load("agentgym.sandboxes", terms.sandbox)()
    judge = open_judge(terms.judge) if terms.judge else None

    def make() -> Environment:
        return Environment(task, provider, max_steps=terms.max_steps, judge=judge)

    venue = Venue(terms.task, make, store, terms.seed, terms.idle_s, terms.timeout_s)
    instruction = task.instance(terms.seed).instruction
    reception = Reception(venue, instruction, make().tools, tell=terms.tell)
    ending = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ending.set)
    try:
        if terms.port is None:
            await serve_stdio(reception, ending)
        else:
            await serve_http(
                reception, terms.port, ending, lambda url: tell(f"serving {terms.task} at {url}")
            )
    finally:
        await provider.close()
