"""Long work over a sandbox provider that the same command resumes: grading predictions, mining."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agentgym.cli.interruption import run_cancellable, stoppable

if TYPE_CHECKING:
    from agentgym.cli.console import Tell
    from agentgym.protocols import SandboxProvider

T = TypeVar("T")


def results_folder(path: Path) -> Path:
    """Make a folder for results, and return it.

    Raises:
        ConfigError: It cannot be made.
    """
    from agentgym.errors import ConfigError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out: {path}: no folder can be made here: {error.strerror}") from None
    return path


def run_resumable(sandbox: str, work: Callable[[SandboxProvider, Tell], Awaitable[T]]) -> T:
    """Run work with a provider, which is closed at its end; lines go to standard error.

    Args:
        sandbox: Name of the provider.
        work: Gets the provider and what tells lines.

    Raises:
        ConfigError: The provider cannot run on this machine.
        typer.Exit: The work was stopped.
    """
    from agentgym.authoring.stage import open_provider
    from agentgym.cli.console import stderr_console, teller

    tell, provider = teller(stderr_console()), open_provider(sandbox)

    async def run() -> T:
        try:
            return await work(provider, tell)
        finally:
            await provider.close()

    with stoppable(lambda: tell("stopped; the same command goes on from here")):
        return run_cancellable(run())
