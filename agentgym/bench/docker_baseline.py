"""A Docker baseline: the same container life cycle by the command line, for ratios in one run.

The image holds a shell, `true` and `sleep` of this host with the libraries they need, so that
nothing has to be pulled and the baseline starts as small as it can be.
"""

from __future__ import annotations

import asyncio
import io
import re
import secrets
import shutil
import subprocess
import tarfile
from pathlib import Path

_PROGRAMS = ("/bin/sh", "/bin/true", "/bin/sleep")


class DockerPeer:
    """A Docker daemon with a small image; use it as an async context manager."""

    def __init__(self) -> None:
        self._image = f"agentgym-bench:{secrets.token_hex(4)}"
        self._containers: list[str] = []

    @staticmethod
    def missing() -> str:
        """Return the reason why Docker cannot be measured here; empty if it can."""
        if shutil.which("docker") is None:
            return "docker is not installed (apt-get install -y docker.io)"
        answer = subprocess.run(
            ["docker", "info", "--format", "{{.ServerVersion}}"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        if answer.returncode or not answer.stdout.strip():
            return "no docker daemon answers (start it with: dockerd)"
        return ""

    async def __aenter__(self) -> DockerPeer:
        await self._docker("import", "-", self._image, stdin=_root_archive())
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.remove(*self._containers)
        await self._docker("rmi", "-f", self._image)

    async def run(self) -> str:
        """Start a container, as a harness does for an episode, and return its id."""
        container = await self._docker(
            "run", "-d", "--network", "none", self._image, "/bin/sleep", "3600"
        )
        self._containers.append(container)
        return container

    async def exec(self, container: str) -> None:
        """Run `true` in a container."""
        await self._docker("exec", container, "/bin/true")

    async def remove(self, *containers: str) -> None:
        """Remove containers."""
        if containers:
            await self._docker("rm", "-f", *containers)
            self._containers = [c for c in self._containers if c not in containers]

    async def _docker(self, *arguments: str, stdin: bytes = b"") -> str:
        process = await asyncio.create_subprocess_exec(
            "docker",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(120):
            out, err = await process.communicate(stdin)
        if process.returncode:
            raise RuntimeError(f"docker {arguments[0]}: {err.decode().strip()}")
        return out.decode().strip()


def _root_archive() -> bytes:
    """Return a tar archive of the programs and the libraries they are linked to."""
    files = set(_PROGRAMS)
    for program in _PROGRAMS:
        listing = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        files.update(re.findall(r"(/\S+) \(0x", listing.stdout))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in sorted(files):
            archive.add(Path(name).resolve(), arcname=name.lstrip("/"))
    return buffer.getvalue()
