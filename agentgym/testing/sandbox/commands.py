"""The part of the sandbox contract about commands: results, streams, deadlines, output limits."""

from __future__ import annotations

import asyncio

from agentgym.protocols import SandboxProvider
from agentgym.records import Recipe
from agentgym.testing.sandbox.contract import Contract, into, output, running

CHECKS: list[Contract] = []
check = into(CHECKS)


@check
async def exec_returns_code_and_streams(provider: SandboxProvider, recipe: Recipe) -> None:
    """Exit code, standard output and standard error are kept apart."""
    async with running(provider, recipe) as box:
        result = await box.exec(["/bin/sh", "-c", "echo out; echo err >&2; exit 7"])
        assert (result.exit_code, result.stdout, result.stderr) == (7, b"out\n", b"err\n")
        assert not result.timed_out


@check
async def exec_passes_stdin_env_and_cwd(provider: SandboxProvider, recipe: Recipe) -> None:
    """Standard input, environment and working directory reach the command."""
    async with running(provider, recipe) as box:
        result = await box.exec(
            ["/bin/sh", "-c", 'cat; echo "$WORD"; pwd'],
            stdin=b"\x00\xffin\n",
            env={"WORD": "é"},
            cwd="/tmp",
        )
        assert result.stdout == b"\x00\xffin\n" + "é\n/tmp\n".encode()


@check
async def root_can_be_asked_for(provider: SandboxProvider, recipe: Recipe) -> None:
    """A command of root gets its environment, also if the recipe's commands run as another user."""
    async with running(provider, recipe) as box:
        script = 'id -u; echo "$WORD"; exit 3'
        result = await box.run_as_root(["/bin/sh", "-c", script], env={"WORD": "é"})
        assert (result.exit_code, result.stdout) == (3, "0\né\n".encode())


@check
async def exec_of_nothing_exits_127(provider: SandboxProvider, recipe: Recipe) -> None:
    """A missing command is a result, as in a shell."""
    async with running(provider, recipe) as box:
        result = await box.exec(["no-such-program"])
        assert result.exit_code == 127 and b"no-such-program" in result.stderr


@check
async def exec_reports_signals_as_a_shell_does(provider: SandboxProvider, recipe: Recipe) -> None:
    """A command ended by signal N reports 128 + N."""
    async with running(provider, recipe) as box:
        assert (await box.exec(["/bin/sh", "-c", "kill -9 $$"])).exit_code == 137


@check
async def exec_ends_at_its_deadline(provider: SandboxProvider, recipe: Recipe) -> None:
    """A command that ignores SIGTERM is killed, and the sandbox continues."""
    async with running(provider, recipe) as box:
        result = await box.exec(["/bin/sh", "-c", "trap '' TERM; sleep 60"], timeout_s=0.3)
        assert result.timed_out and result.exit_code != 0
        assert await output(box, "echo on") == "on\n"


@check
async def exec_caps_output(provider: SandboxProvider, recipe: Recipe) -> None:
    """Of a long output the head and the tail are kept, and the rest is counted."""
    async with running(provider, recipe) as box:
        script = "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last"
        result = await box.exec(["/bin/sh", "-c", script])
        assert result.stdout.startswith(b"first\n") and result.stdout.endswith(b"last\n")
        assert len(result.stdout) < recipe.limits.output_bytes + 200
        assert result.omitted_bytes > 2_000_000


@check
async def exec_runs_side_by_side(provider: SandboxProvider, recipe: Recipe) -> None:
    """A waiting command does not delay others."""
    async with running(provider, recipe) as box:
        await box.exec(["mkfifo", "/tmp/pipe"])
        reader = asyncio.create_task(box.exec(["cat", "/tmp/pipe"]))
        await box.exec(["/bin/sh", "-c", "echo through > /tmp/pipe"])
        assert (await reader).stdout == b"through\n"
