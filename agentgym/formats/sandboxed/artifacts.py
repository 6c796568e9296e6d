"""Copies artifacts from the agent's sandbox into the sandbox of a separate verifier."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

from agentgym.formats.sandboxed.rules import ARTIFACTS, Artifact
from agentgym.protocols import FileTree, Sandbox
from agentgym.records.pattern import fits_glob
from agentgym.scratch import scratch_folder
from agentgym.verify.room import pack_artifacts


def pack(tree: FileTree, artifacts: Sequence[Artifact]) -> bytes:
    """Pack the existing artifacts, without their excluded paths.

    Raises:
        GuestFileError: An artifact has an unsupported file type, or is too large.
    """
    wanted = [Artifact(ARTIFACTS), *artifacts]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as into:
        for artifact in wanted:
            if tree.stat(artifact.source, follow=False) is None:
                continue
            found = io.BytesIO(pack_artifacts(tree, [artifact.source]))
            with tarfile.open(fileobj=found) as archive:
                for member in archive:
                    inner = f"/{member.name}".removeprefix(artifact.source).lstrip("/")
                    if member.issym() and _leads_to(f"/{member.name}", wanted):
                        # Else the other artifact would be written to where the agent's link leads.
                        continue
                    if not any(fits_glob(inner, glob) for glob in artifact.exclude):
                        # A link has no content, and its target may be absent.
                        file = archive.extractfile(member) if member.isfile() else None
                        into.addfile(member, file)
    return packed.getvalue()


def _leads_to(link: str, artifacts: Sequence[Artifact]) -> bool:
    """Return whether a link stands on the way to an artifact below it."""
    return any(other.source.startswith(f"{link}/") for other in artifacts)


async def unpack(packed: bytes, sandbox: Sandbox) -> None:
    """Unpack files in a sandbox at their original paths."""
    with scratch_folder("artifacts") as folder:
        await _unpack(packed, Path(folder), sandbox)


async def _unpack(packed: bytes, folder: Path, sandbox: Sandbox) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            target, place = f"/{member.name}", folder / "entry"
            if member.isdir():
                place.mkdir(mode=member.mode & 0o777 | 0o700)
                await sandbox.upload(place, target)
                place.rmdir()
            elif member.issym():
                place.symlink_to(member.linkname)
                await sandbox.upload(place, target)
                place.unlink()
            else:
                file = archive.extractfile(member)
                assert file is not None
                await sandbox.write_file(target, file.read(), mode=member.mode & 0o777)
