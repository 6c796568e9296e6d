"""Exhaustion of the machine: it must stay inside, or end only the sandbox."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agentgym.errors import SandboxEndedError
from agentgym.protocols import SandboxProvider
from agentgym.records import Recipe
from agentgym.testing.attacks import devour
from agentgym.testing.attacks.attack import Outcome, attack, run_inside

_MEMORY_MB, _DISK_MB, _PIDS = 160, 24, 48
_IN_PROCESSES = ("heap",)
_ELSEWHERE = ("memfd", "shared_file", "segment", "pipes", "sockets", "run", "names")


async def _try(
    provider: SandboxProvider, recipe: Recipe, program: Callable[..., None], *arguments: str
) -> dict[str, str]:
    """Run a program in a new sandbox, which it may end."""
    box = await provider.start(recipe)
    try:
        outcome = await run_inside(box, program, *arguments)
        if killed := outcome.attempts.get("the program"):
            return {arguments[0]: killed}
        return dict(outcome.attempts)
    except SandboxEndedError as error:
        return {arguments[0]: str(error).partition(": ")[2]}
    finally:
        await box.close()


async def _is_well(provider: SandboxProvider, recipe: Recipe) -> str:
    """Start another sandbox, which must not be affected."""
    box = await provider.start(recipe)
    try:
        result = await box.exec(["python3", "-c", "print(len(b'x' * 2**20))"])
    finally:
        await box.close()
    assert result.stdout == b"1048576\n", result
    return "well"


@attack("process limit: control group or rlimit of the user namespace")
async def processes(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Start more processes and threads than are allowed (a fork bomb)."""
    small = replace(recipe, limits=replace(recipe.limits, pids=_PIDS))
    box = await provider.start(small)
    try:
        outcome = await run_inside(box, devour.processes, str(4 * _PIDS))
        return Outcome({**outcome.attempts, "others": await _is_well(provider, recipe)})
    finally:
        await box.close()


@attack("rlimit of each process; control group where writable")
async def memory(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Use more memory than is allowed, in a process."""
    return await _fill(provider, recipe, _IN_PROCESSES)


@attack("control group where writable; sized tmpfs")
async def memory_elsewhere(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Use more memory than is allowed outside of processes: tmpfs, memfd, SysV, pipes, sockets."""
    return await _fill(provider, recipe, _ELSEWHERE)


async def _fill(provider: SandboxProvider, recipe: Recipe, kinds: tuple[str, ...]) -> Outcome:
    small = replace(recipe, limits=replace(recipe.limits, memory_mb=_MEMORY_MB))
    attempts: dict[str, str] = {}
    for kind in kinds:
        attempts |= await _try(provider, small, devour.memory, kind, str(2 * _MEMORY_MB))
    return Outcome({**attempts, "others": await _is_well(provider, recipe)})


@attack("rlimit")
async def descriptors(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Open more files than is allowed."""
    box = await provider.start(recipe)
    try:
        outcome = await run_inside(box, devour.descriptors, timeout_s=120)
        return Outcome({**outcome.attempts, "others": await _is_well(provider, recipe)})
    finally:
        await box.close()


@attack("rlimit of each file; the host's watch over what was written")
async def disk(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Fill the disk: one file, many, deep ones, files without a name, names without a file."""
    small = replace(recipe, limits=replace(recipe.limits, disk_mb=_DISK_MB))
    attempts: dict[str, str] = {}
    for kind in ("one_file", "many_files", "deep_files", "deleted_files", "empty_files"):
        attempts |= await _try(provider, small, devour.disk, kind, str(4 * _DISK_MB))
    return Outcome({**attempts, "others": await _is_well(provider, recipe)})
