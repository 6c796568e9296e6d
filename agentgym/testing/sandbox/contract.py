"""Building blocks of the checks: capabilities, a running sandbox, a script."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from agentgym.errors import UnsupportedError
from agentgym.protocols import Sandbox, SandboxProvider
from agentgym.records import Capability, Recipe

Contract: TypeAlias = Callable[[SandboxProvider, Recipe], Awaitable[None]]


def into(checks: list[Contract]) -> Callable[[Contract], Contract]:
    """Return the decorator that adds a check to a topic's list."""

    def check(function: Contract) -> Contract:
        checks.append(function)
        return function

    return check


def needs(capability: Capability) -> Callable[[Contract], Contract]:
    """Run a check only if a capability is declared; otherwise a request must be refused."""

    def wrap(function: Contract) -> Contract:
        async def checked(provider: SandboxProvider, recipe: Recipe) -> None:
            if capability in provider.capabilities:
                await function(provider, recipe)
            elif capability is not Capability.ISOLATION:
                await _is_refused(provider, recipe, capability)

        checked.__name__ = function.__name__
        checked.__doc__ = function.__doc__
        return checked

    return wrap


async def _is_refused(provider: SandboxProvider, recipe: Recipe, capability: Capability) -> None:
    async with running(provider, recipe) as box:
        try:
            await _ask_for(box, capability)
        except UnsupportedError:
            return
        raise AssertionError(f"{capability} is not declared, and asking for it works")


async def _ask_for(box: Sandbox, capability: Capability) -> None:
    if capability is Capability.SNAPSHOT:
        await box.snapshot()
    elif capability is Capability.FORK:
        await (await box.fork()).close()
    elif capability is Capability.RESTORE:
        await box.restore(await box.snapshot())
    elif capability is Capability.LOOK:
        async with box.look():
            pass
    else:
        await box.changes()


@asynccontextmanager
async def running(provider: SandboxProvider, recipe: Recipe) -> AsyncIterator[Sandbox]:
    """Start a sandbox, and close it at the end."""
    box = await provider.start(recipe)
    try:
        yield box
    finally:
        await box.close()


async def output(box: Sandbox, script: str) -> str:
    """Return the output of a shell script, which must succeed."""
    result = await box.exec(["/bin/sh", "-c", script])
    assert result.exit_code == 0, f"{script!r} exited with {result.exit_code}: {result.stderr!r}"
    return result.stdout.decode()
