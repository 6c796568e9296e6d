"""The part of the sandbox contract about life: processes, usage, the end."""

from __future__ import annotations

import asyncio

from agentgym.errors import SandboxDiedError
from agentgym.protocols import SandboxProvider
from agentgym.records import Recipe
from agentgym.testing.sandbox.contract import Contract, into, output, running

CHECKS: list[Contract] = []
check = into(CHECKS)

_SERVE = b"""\
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
os.close(1)
time.sleep(60)
"""


@check
async def processes_and_ports_are_seen(provider: SandboxProvider, recipe: Recipe) -> None:
    """Listening processes are listed with their port; supervisor and idle shells are left out."""
    async with running(provider, recipe) as box:
        shell = await box.open_shell()
        # Any free port: a provider without isolation shares the host's.
        await box.write_file("/srv/serve.py", _SERVE)
        await shell.run("mkfifo /srv/ready; python3 /srv/serve.py > /srv/ready &")
        port = int((await shell.run("cat /srv/ready")).output)
        found = [p for p in await box.processes() if port in p.tcp_ports]
        assert len(found) == 1 and "python3" in found[0].argv[0]
        assert all(p.pid != 1 for p in await box.processes())


@check
async def usage_says_who_enforces(provider: SandboxProvider, recipe: Recipe) -> None:
    """Usage counts processes and written bytes, and names limits with their mechanism."""
    async with running(provider, recipe) as box:
        await output(box, "head -c 5000000 /dev/zero > /srv/five")
        usage = await box.usage()
        assert usage.processes >= 1
        assert 4.0 < usage.disk_mb < 7.0, usage.disk_mb
        assert "output_bytes" in usage.enforced


@check
async def a_killed_sandbox_is_reported(provider: SandboxProvider, recipe: Recipe) -> None:
    """After close every call fails at once with SandboxDiedError, and close may be repeated."""
    box = await provider.start(recipe)
    waiting = asyncio.create_task(box.exec(["sleep", "60"]))
    await box.exec(["true"])
    await box.close()
    await box.close()
    for call in (waiting, box.exec(["true"])):
        try:
            await call
        except SandboxDiedError:
            continue
        raise AssertionError("a closed sandbox should raise SandboxDiedError")
