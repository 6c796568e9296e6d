"""`agentgym doctor`: reports what this machine can run, and the command that adds the rest.

A sandbox provider counts as working only after it has started a sandbox and run a command.
"""

from __future__ import annotations

import asyncio
import platform
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from agentgym.errors import (
    AgentGymError,
    ConfigError,
    PluginError,
    UnsupportedError,
    pass_interruptions,
)

if TYPE_CHECKING:
    from agentgym.protocols import SandboxProvider

DEFAULT_PROVIDER = "bubblewrap"
_TRY_S = 300.0
_SIGNS = {True: ("✓", "green"), False: ("✗", "red"), None: ("–", "dim")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `ok` is None if the thing is absent and not needed."""

    ok: bool | None
    what: str
    detail: str
    fix: str = ""


def doctor() -> None:
    """Report what this machine can run, and the commands that add the rest."""
    found = show(_findings())
    if not any(each.what == f"sandbox {DEFAULT_PROVIDER}" and each.ok is True for each in found):
        raise typer.Exit(1)


def show(findings: Iterable[Finding]) -> list[Finding]:
    """Print findings as they arrive, and return them."""
    from rich.text import Text

    from agentgym.cli.console import stdout_console

    console = stdout_console()
    shown = []
    for finding in findings:
        sign, style = _SIGNS[finding.ok]
        line = Text.assemble((sign, style), f" {finding.what:<24} ", finding.detail)
        console.print(line, soft_wrap=True)
        if finding.fix:
            console.print(Text(f"  {'':<24} → {finding.fix}", "cyan"), soft_wrap=True)
        shown.append(finding)
    return shown


def _findings() -> Iterator[Finding]:
    yield Finding(True, "python", f"{platform.python_version()} on {platform.platform()}")
    works = False
    for finding in providers():
        works |= finding.what == f"sandbox {DEFAULT_PROVIDER}" and finding.ok is True
        yield finding
    yield from _tasks(sandboxes=works)
    yield docker_daemon()
    yield _browser()
    yield from _extras()


def providers() -> Iterator[Finding]:
    """Try out every provider, with all the limits it can enforce."""
    from agentgym import plugins

    for name in plugins.names("agentgym.sandboxes"):
        what = f"sandbox {name}"
        # One provider is enough; the absence of another one is not a fault.
        missing = False if name == DEFAULT_PROVIDER else None
        try:
            provider = plugins.make_provider(name)
            problems = plugins.problems_of(provider)
            if problems:
                for problem in problems:
                    yield Finding(missing, what, problem.what, problem.fix)
                continue
            yield Finding(True, what, asyncio.run(_try_out(provider)))
        except UnsupportedError:
            yield Finding(None, what, "runs no commands; for environments without a computer")
        except AgentGymError as error:
            yield Finding(False, what, str(error))


async def _try_out(provider: SandboxProvider) -> str:
    """Start a sandbox, run a command in it, and describe the result.

    Raises:
        AgentGymError: The provider does not work after all.
    """
    try:
        async with asyncio.timeout(_TRY_S):
            return await _started(provider)
    except TimeoutError:
        raise PluginError(f"it did not start a sandbox within {_TRY_S:g} s") from None
    except AgentGymError:
        raise
    except BaseException as error:  # a plug-in may raise anything
        pass_interruptions(error)
        raise PluginError(f"it does not work: {type(error).__name__}: {error}") from error


async def _started(provider: SandboxProvider) -> str:
    from agentgym.errors import SandboxError
    from agentgym.records import Capability, Limits, Recipe

    try:
        began = time.monotonic()
        sandbox = await provider.start(Recipe("doctor", limits=Limits(cpus=1.0)))
        result = await sandbox.exec(["true"])
        took_ms = 1000 * (time.monotonic() - began)
        usage = await sandbox.usage()
        await sandbox.close()
    finally:
        await provider.close()
    if result.exit_code != 0:
        raise SandboxError(f"`true` exits with {result.exit_code}: {result.stderr.decode()}")
    limits = ", ".join(f"{limit} by {how}" for limit, how in sorted(usage.enforced.items()))
    walls = "" if Capability.ISOLATION in provider.capabilities else "NO ISOLATION; "
    return f"{walls}started and ran a command in {took_ms:.0f} ms; limits: {limits or 'none'}"


def _tasks(*, sandboxes: bool) -> Iterator[Finding]:
    from agentgym import catalogue
    from agentgym.env.resolved_task import needs_sandbox
    from agentgym.eval.requirements import missing_commands
    from agentgym.installation import absent_extras
    from agentgym.task.load import find_task

    tasks = []
    for task_id in sorted(catalogue.folders("tasks")):
        try:
            tasks.append(find_task(task_id))
        except AgentGymError as error:
            yield Finding(False, f"task {task_id}", str(error))
    missing = missing_commands(tasks)
    stuck = {task_id for need in missing for task_id in need.tasks}
    boxed = set() if sandboxes else {task.id for task in tasks if needs_sandbox(task)}
    stuck |= boxed
    why = f"; {len(boxed)} need a sandbox" if boxed else ""
    why += "; some may need an extra that is not installed" if absent_extras() else ""
    yield Finding(not stuck, "tasks", f"{len(tasks) - len(stuck)} of {len(tasks)} can run{why}")
    for need in missing:
        yield Finding(False, f"command {need.command}", need.wanted_by, need.install)


def docker_daemon() -> Finding:
    """Ask Docker's daemon for its version."""
    if shutil.which("docker") is None:
        detail = "not installed; `agentgym bench` compares itself with it"
        return Finding(None, "docker", detail, "apt-get install docker.io")
    ask = ["docker", "version", "--format", "{{.Server.Version}}"]
    try:
        seen = subprocess.run(ask, capture_output=True, text=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return Finding(None, "docker", "the daemon hangs", "systemctl restart docker")
    if seen.returncode != 0:
        return Finding(None, "docker", "its daemon does not answer", "systemctl start docker")
    return Finding(True, "docker", f"daemon {seen.stdout.strip()}")


def _extras() -> Iterator[Finding]:
    from agentgym.installation import absent_extras, install_line

    for extra, packages in absent_extras().items():
        detail = f"not installed: {', '.join(packages)}"
        yield Finding(None, f"extra {extra}", detail, install_line(extra))


def _browser() -> Finding:
    """Start a browser as the surface `browser` does, and open a page in it."""
    from agentgym.browser.executable import find_executable
    from agentgym.surfaces.browser import try_browser

    try:
        found = find_executable()
        took_ms = asyncio.run(try_browser())
    except ConfigError as error:
        what, _, fix = str(error).partition("; ")
        return Finding(None, "browser", f"web environments need one: {what}", fix)
    except AgentGymError as error:
        return Finding(False, "browser", str(error))
    told = f"{found.version or 'Chromium'} at {found.path}, confined"
    return Finding(True, "browser", f"{told}; first page in {took_ms:.0f} ms")
