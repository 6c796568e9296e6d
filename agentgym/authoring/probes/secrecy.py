"""Tests that the guest cannot read the gold and that grading does not use the network."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from agentgym.authoring.finding import DoesNotApplyError
from agentgym.authoring.subject import InitialState, Subject
from agentgym.errors import GuestFileError
from agentgym.services.state import Snapshot
from agentgym.services.tables import SnapshotTables
from agentgym.task.reference_actions import solution
from agentgym.threads import to_thread

TELLING_BYTES = 16
"""Smallest secret to search for, in bytes; shorter ones may be equal by chance."""

_LARGEST = 16 * 2**20
_ENVIRONMENT = "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null"


async def offline(subject: Subject) -> Sequence[str]:
    """Report the hosts that were contacted while episodes were played and graded."""
    await asyncio.gather(*(subject.oracle(take=take) for take in range(2)))
    return contacted_hosts(subject)


def contacted_hosts(subject: Subject) -> list[str]:
    """Report the hosts that the episodes played so far have contacted."""
    return [
        f"grading asked for {host}; a verdict must not need a network"
        for host in sorted(subject.tally.contacted)
    ]


async def gold(subject: Subject) -> Sequence[str]:
    """Search the files, rows and environment of the guest for secrets."""
    if subject.task.foreign is not None:
        raise DoesNotApplyError("tests and solution come when the agent's time is over")
    initial = await subject.initial_state()
    secrets = {f"gold file {name}": blob for name, blob in initial.gold.items()}
    secrets |= {f"{name} of the task folder": blob for name, blob in _own_files(subject)}
    telling = {
        name: blob.strip() for name, blob in secrets.items() if len(blob.strip()) >= TELLING_BYTES
    }
    if not telling:
        raise DoesNotApplyError(f"nothing secret of {TELLING_BYTES} bytes or more")
    complaints = await to_thread(_search, initial, telling)
    if initial.services is not None:
        complaints += await to_thread(_search_rows, initial.services, telling)
    if subject.has_sandbox:
        complaints += await _environment(subject, initial, telling)
    return complaints


def _own_files(subject: Subject) -> Iterator[tuple[str, bytes]]:
    folder = subject.task.folder
    checks = [path for path in (folder / "checks").rglob("*") if path.is_file()]
    for path in (*checks, solution(subject.task), *subject.task.mutants().values()):
        if "__pycache__" not in path.parts:
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _search(initial: InitialState, secrets: Mapping[str, bytes]) -> list[str]:
    complaints = []
    if initial.tree.stat("/run/agentgym") is not None:
        complaints.append("/run/agentgym is still there; expected the setup's folders to be gone")
    for path in initial.files:
        try:
            content = initial.tree.read(path, max_bytes=_LARGEST)
        except GuestFileError:
            # The file is too large to hold here for a comparison.
            continue
        complaints += [
            f"{path} holds the {name}" for name, blob in secrets.items() if blob in content
        ]
    return complaints


def _search_rows(services: Snapshot, secrets: Mapping[str, bytes]) -> list[str]:
    tables = SnapshotTables(services)
    return [
        f"a row of {table} holds the {name} in {column}"
        for table in tables.names()
        for row in tables.rows(table)
        for column, value in row.items()
        for name, blob in secrets.items()
        if blob in (value if isinstance(value, bytes) else str(value).encode())
    ]


async def _environment(
    subject: Subject, initial: InitialState, secrets: Mapping[str, bytes]
) -> list[str]:
    sandbox = await initial.provider.start(initial.recipe, initial.snapshot)
    try:
        seen = (await sandbox.exec(["/bin/sh", "-c", _ENVIRONMENT])).stdout
    finally:
        await sandbox.close()
    complaints = [
        f"a process of the sandbox shows the {name}"
        for name, blob in secrets.items()
        if blob in seen
    ]
    if str(subject.task.folder).encode() in seen:
        complaints.append(f"a process of the sandbox shows the host's path {subject.task.folder}")
    return complaints
