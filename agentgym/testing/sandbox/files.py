"""The part of the sandbox contract about files that travel between host and guest."""

from __future__ import annotations

import tempfile
from pathlib import Path

from agentgym.errors import GuestFileError
from agentgym.protocols import SandboxProvider
from agentgym.records import Recipe
from agentgym.testing.sandbox.contract import Contract, into, output, running

CHECKS: list[Contract] = []
check = into(CHECKS)


@check
async def files_round_trip(provider: SandboxProvider, recipe: Recipe) -> None:
    """Bytes and modes arrive as they were sent; missing parents are created; a mode is kept."""
    async with running(provider, recipe) as box:
        data = bytes(range(256)) * 40_000
        await box.write_file("/srv/deep/er/file", data, mode=0o750)
        assert await box.read_file("/srv/deep/er/file") == data
        await box.write_file("/srv/deep/er/file", b"short")
        assert await output(box, "stat -c '%a %s' /srv/deep/er/file") == "750 5\n"
        await box.write_file("/srv/empty", b"")
        assert await box.read_file("/srv/empty") == b""


@check
async def files_refuse_clearly(provider: SandboxProvider, recipe: Recipe) -> None:
    """A missing path, a folder, a FIFO or a large file is a GuestFileError, and nothing hangs."""
    async with running(provider, recipe) as box:
        await box.exec(["/bin/sh", "-c", "mkfifo /tmp/pipe; head -c 5000 /dev/zero > /tmp/big"])
        for path in ("/absent", "/tmp", "/tmp/pipe", "/etc/passwd/x"):
            try:
                await box.read_file(path)
            except GuestFileError as error:
                assert path in str(error)
            else:
                raise AssertionError(f"reading {path} should fail")
        try:
            await box.read_file("/tmp/big", max_bytes=4999)
        except GuestFileError:
            pass
        else:
            raise AssertionError("a file over max_bytes should be refused")


@check
async def folders_travel_both_ways(provider: SandboxProvider, recipe: Recipe) -> None:
    """Upload and download carry folders with modes; links are never followed to the host."""
    with tempfile.TemporaryDirectory() as temporary:
        source, back = Path(temporary, "source"), Path(temporary, "back")
        (source / "sub").mkdir(parents=True)
        (source / "sub/run.sh").write_bytes(b"#!/bin/sh\n")
        (source / "sub/run.sh").chmod(0o755)
        (source / "naïve name").write_bytes(b"\xff")
        (source / "link").symlink_to("/etc/hostname")
        async with running(provider, recipe) as box:
            await box.upload(source, "/srv/in")
            assert await output(box, "readlink /srv/in/link") == "/etc/hostname\n"
            assert await output(box, "stat -c %a /srv/in/sub/run.sh") == "755\n"
            await box.download("/srv/in", back)
        assert (back / "naïve name").read_bytes() == b"\xff"
        assert (back / "sub/run.sh").read_bytes() == b"#!/bin/sh\n"
        assert not (back / "link").exists()
