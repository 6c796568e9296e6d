"""The end of an episode as data: the evidence for its verdict, kept so that it can be regraded.

Only the episode's own changes are kept: files on top of those that the setup left, rows of the
services, and calls. Running the setup again restores the rest, and must give the same result.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from agentgym.env.hosting import STARTS, ServicesStart, prepare_services
from agentgym.env.resources import SharedResources
from agentgym.errors import AgentGymError, RecordError, ReplayError, UnsupportedError
from agentgym.protocols import state_keeper
from agentgym.record.reading import expect, read
from agentgym.record.volatile.masking import Masking, command_of
from agentgym.records import (
    Audit,
    AuditEntry,
    Bounds,
    CheckResult,
    Json,
    RowRef,
    Snapshot,
    Step,
    Verdict,
)
from agentgym.services.state import Snapshot as ServicesSnapshot
from agentgym.services.state import hash_from_scratch
from agentgym.task.model import Instance
from agentgym.task.setup import Prepared, digest_of
from agentgym.threads import to_thread
from agentgym.verify.grade import EpisodeEnd, grade
from agentgym.verify.grading_start import GradingStart
from agentgym.verify.manifest import list_files
from agentgym.verify.service_state import ServicesSeen

FORMAT: Final = "agentgym.ending/1"

OnEnd = Callable[["EndedEpisode", Verdict], Awaitable[None]]

BOUNDS: Final = Bounds(max_bytes=32 << 20, max_entries=20_000)
"""Bounds of the files in one final state."""

_FILES, _ROWS, _CALLS = "files.tar", "services.db", "calls.jsonl"
_CALLS_BYTES: Final = 16 << 20
_SMALL_BYTES: Final = 64 << 10
"""Packing less takes less time than a thread needs to begin it."""


@dataclass(frozen=True, slots=True)
class EndedEpisode:
    """An episode that is over and whose files still exist.

    Attributes:
        environment: The environment, shared with other episodes.
        instance: The task with its parameters.
        prepared: Its initial state.
        end: The evidence for its verdict.
        latched: Results of the milestones, by checkpoint id.
        grading: Its grading, if it was started ahead; it serves one judgement.
    """

    environment: SharedResources
    instance: Instance
    prepared: Prepared
    end: EpisodeEnd
    latched: Mapping[str, CheckResult]
    grading: GradingStart | None = None

    async def judge(self) -> Verdict:
        """Judge the episode.

        Raises:
            SandboxError: The files of the episode cannot be read.
        """
        environment = self.environment
        return await grade(
            self.instance,
            self.end,
            self.prepared,
            provider=environment.provider,
            recipe=environment.recipe,
            judge=environment.judge,
            room_cache=environment.room_cache,
            latched=self.latched,
            start=self.grading,
        )

    async def evidence(self, masking: Masking) -> dict[str, Json]:
        """Return the evidence besides files and rows, with digests of files and rows.

        Args:
            masking: Rules for text that the second digest of each file ignores.

        Raises:
            SandboxError: The files of the episode cannot be read.
        """
        environment, end = self.environment, self.end
        for step in end.steps:
            masking = masking.after(command_of(step.action))
        tree = await environment.provider.open_tree(end.after)
        volatile_paths = self.instance.task.manifest.replay.volatile_paths
        files: list[Json] | None = []
        if end.changes:
            files = await to_thread(list_files, end.changes, tree, volatile_paths, masking)
        seen = end.services
        return {
            "format": FORMAT,
            "setup": self.prepared.digest,
            "answer": end.answer,
            "gave_up": end.gave_up,
            "latched": {id: asdict(result) for id, result in self.latched.items()},
            "files": files,
            "services": None if seen is None else _hashes(seen),
        }

    async def state(self) -> bytes:
        """Return the episode's own changes: its files, rows and calls, as one archive.

        Raises:
            AgentGymError: The archive is too large, or the provider cannot create it.
        """
        environment, end = self.environment, self.end
        keeper = state_keeper(environment.provider)
        files = await keeper.save_delta(self.prepared.snapshot, end.after, BOUNDS)
        if end.services is None and len(files) < _SMALL_BYTES:
            return _archive(files, None)
        return await to_thread(_archive, files, end.services)


async def judge_kept(
    environment: SharedResources,
    instance: Instance,
    steps: Sequence[Step],
    audit: Audit,
    evidence: Mapping[str, Json],
    state: bytes,
) -> Verdict:
    """Judge an episode from its kept final state; no action of the agent is executed.

    Args:
        environment: The environment of its task.
        instance: The task with the parameters of the episode.
        steps: The steps of the episode.
        audit: Audit of the sandbox.
        evidence: Result of `EndedEpisode.evidence`.
        state: Result of `EndedEpisode.state`.

    Raises:
        ReplayError: The setup now leaves another state than the one the episode began with.
        RecordError: The kept data is damaged.
        AgentGymError: The task or the sandbox is broken.
    """
    prepared, services, after = await _restored(environment, instance, evidence, state)
    try:
        end = EpisodeEnd(
            after=after,
            changes=await environment.provider.compare(prepared.snapshot, after),
            audit=audit,
            steps=tuple(steps),
            answer=_text(evidence, "answer"),
            gave_up=_text(evidence, "gave_up"),
            services=services,
        )
        latched = expect(evidence.get("latched"), "latched", dict)
        results = {str(id): read(CheckResult, value, "result") for id, value in latched.items()}
        return await EndedEpisode(environment, instance, prepared, end, results).judge()
    except ValueError as error:
        raise RecordError(f"the kept end of the episode is damaged: {error}") from error
    finally:
        await environment.provider.discard(after)


async def kept_files(
    environment: SharedResources, instance: Instance, evidence: Mapping[str, Json], state: bytes
) -> tuple[Snapshot, Snapshot]:
    """Return the files with which an episode began, and those that it left, from its kept state.

    The caller discards the second snapshot. Raises as `judge_kept` does.
    """
    prepared, _, after = await _restored(environment, instance, evidence, state)
    return prepared.snapshot, after


async def _restored(
    environment: SharedResources, instance: Instance, evidence: Mapping[str, Json], state: bytes
) -> tuple[Prepared, ServicesSeen | None, Snapshot]:
    """Return the initial state, the services at the end and the files at the end."""
    prepared = await environment.prepare_instance(instance)
    parts = await to_thread(_unpack, state)
    services = None
    if environment.services is not None:
        begun = await STARTS.run(prepare_services, environment.services, instance)
        prepared = with_services(prepared, begun)
        services = await STARTS.run(_services, begun, evidence, parts)
    if prepared.digest != evidence.get("setup"):
        raise _other_start("files")
    keeper = state_keeper(environment.provider)
    return prepared, services, await keeper.load_delta(prepared.snapshot, parts[_FILES], BOUNDS)


def with_services(prepared: Prepared, begun: ServicesStart) -> Prepared:
    """Return the initial state of an episode, including its services."""
    digest = digest_of(prepared.digest + begun.snapshot.hash, begun.gold)
    return replace(prepared, gold={**prepared.gold, **begun.gold}, digest=digest)


def _other_start(what: str) -> ReplayError:
    return ReplayError(
        f"the setup of the task leaves other {what} today than those the episode began with, and "
        "what was kept builds on those; go back to the task as it was, or add --rerun"
    )


def _services(
    begun: ServicesStart, evidence: Mapping[str, Json], parts: Mapping[str, bytes]
) -> ServicesSeen:
    """Return the services at the end of the episode.

    Raises:
        ReplayError: The services now begin with other rows.
        RecordError: The kept rows or calls are damaged.
    """
    said = evidence.get("services")
    if not isinstance(said, dict) or begun.snapshot.hash != said.get("before"):
        raise _other_start("rows in the services")
    try:
        layout = begun.services.layout
        index = hash_from_scratch(layout, parts[_ROWS])
        if str(index) != said.get("after"):
            raise ValueError("the rows are not those that the record names")
        lines = parts[_CALLS].decode().splitlines()
        calls = [_call_from_json(json.loads(line)) for line in lines]
        now = expect(said.get("now"), "now", str)
    except Exception as error:
        raise RecordError(f"the kept services are damaged: {error}") from error
    after = ServicesSnapshot(parts[_ROWS], now, layout, index)
    return ServicesSeen(begun.snapshot, lambda: after, calls)


def _hashes(seen: ServicesSeen) -> dict[str, Json]:
    before, after = seen.before, seen.after
    return {"before": before.hash, "after": after.hash, "now": after.now}


def _call_from_json(value: Any) -> AuditEntry:
    entry = dict(expect(value, "call", dict))
    changed = tuple(RowRef(*row) for row in entry.pop("changed"))
    return AuditEntry(**entry, changed=changed)


def _text(evidence: Mapping[str, Json], name: str) -> str | None:
    found: str | None = expect(evidence.get(name), name, str | None)
    return found


def _archive(files: bytes, services: ServicesSeen | None) -> bytes:
    """Return files, rows and calls as one archive.

    Raises:
        UnsupportedError: The calls are too large.
    """
    parts = {_FILES: files}
    if services is not None:
        lines = [json.dumps(entry.to_json()) for entry in services.calls]
        calls = "\n".join(lines).encode()
        if len(calls) > _CALLS_BYTES:
            raise UnsupportedError(f"the calls of services have {len(calls)} bytes")
        parts |= {_ROWS: bytes(services.after), _CALLS: calls}
    return _pack(parts)


def _pack(parts: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _unpack(state: bytes) -> dict[str, bytes]:
    """Return the parts of a final state.

    Raises:
        RecordError: The state is damaged.
    """
    parts: dict[str, bytes] = {_FILES: b"", _ROWS: b"", _CALLS: b""}
    try:
        with tarfile.open(fileobj=io.BytesIO(state), mode="r:") as archive:
            for member in archive:
                if member.name not in parts or not member.isreg() or member.sparse is not None:
                    raise ValueError(f"it holds {member.name[:80]!r}")
                file = archive.extractfile(member)
                assert file is not None
                parts[member.name] = file.read(len(state))
    except (tarfile.TarError, ValueError, EOFError, AgentGymError) as error:
        raise RecordError(f"the kept state is damaged: {error}") from error
    return parts
