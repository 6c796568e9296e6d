"""Runs that another process recorded, handed over as bytes and merged into a run.

The process that has the run trusts no worker: it reads the whole of what came before it merges any
of it, and merges it in one transaction.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from agentgym.env.keeping import no_room
from agentgym.errors import RecordError
from agentgym.record.store import RunStore
from agentgym.scratch import scratch_folder


def pack(folder: Path) -> bytes:
    """Return the files of a closed run."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != "run.lock":
                archive.add(path, path.relative_to(folder), recursive=False)
    return data.getvalue()


def merge(store: RunStore, archive: bytes, planned: Mapping[int, int]) -> list[int]:
    """Merge a run into another one; it waits for the disk.

    Args:
        store: The run, open for writing.
        archive: What `pack` returned.
        planned: Planned episodes of the run, by the episodes of the archive that take their place.
            The others are added; they have to be forks or branches, which no result counts.

    Returns:
        The numbers of its episodes in the run.

    Raises:
        RecordError: It is no such archive, its run is damaged, or an episode is not planned.
    """
    with scratch_folder("merge") as folder:
        unpack(archive, Path(folder))
        source = RunStore.open(Path(folder))
        try:
            _read_whole(source, planned)
            return [*store.merge(source, planned, lambda size: no_room(store, size)).values()]
        finally:
            source.close()


def unpack(data: bytes, folder: Path) -> None:
    """Write the files of a run; they take no more than the archive.

    Raises:
        RecordError: It is no such archive.
    """
    try:
        # Of any other mode, a compressed archive could unpack to any size.
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            members = archive.getmembers()
            odd = next((m for m in members if not m.isreg() or m.issparse()), None)
            if odd is not None or sum(m.size for m in members) > len(data):
                name = "" if odd is None else f": {odd.name!r:.100} is no plain file"
                raise RecordError(f"a worker returned an archive of another form{name}")
            archive.extractall(folder, filter="data")
    except (OSError, ValueError, tarfile.TarError) as error:
        raise RecordError(f"a worker returned no run: {error}") from error


def _read_whole(source: RunStore, planned: Mapping[int, int]) -> None:
    """Read all episodes of a run once, so that nothing damaged is merged.

    Raises:
        RecordError: Something is damaged, or an episode was not asked for.
    """
    for row in source.episodes():
        if row.parent is None and row.id not in planned:
            raise RecordError(f"a worker returned episode {row.id}, which it was not asked to play")
        for _ in source.iter_steps(row.id):
            pass
