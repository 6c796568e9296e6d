"""An episode as it was planned and as the record knows it; read from the table `episodes`."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.database import Database
from agentgym.record.packing import Packing
from agentgym.record.reading import NUMBER, expect, read
from agentgym.record.refused import RefusedReplies
from agentgym.record.setups import Setups
from agentgym.records import Audit, CheckpointResult, Json, Observation, TokenUsage, Verdict

_TOKENS = ("prompt", "completion", "cached")

_KINDS = {
    **{"task": str, "seed": int, "trial": int, "agent": str, "sandbox": str | None},
    **{"reset_s": NUMBER, "duration_s": NUMBER},
    **{"state": str, "episode_group": str | None, "parent": int | None, "parent_step": int | None},
}
"""The columns that SQLite, which takes any value anywhere, would not have kept in order."""

_DEEPEST: Final = 100
"""How deep a checkpoint may stand in its rubric: it is shown with that many indents."""

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """One episode as it was planned.

    Attributes:
        task: Id of its task.
        seed: Seed of its instance.
        trial: Which of the attempts at the task it is, counted from 0.
        agent: Who plays it.
        group: Name of the group that a trainer compares it within, None if it is in none.
        metadata: What its planner wants to find beside it; None differs from an empty object.
    """

    task: str
    seed: int
    trial: int
    agent: str
    group: str | None = None
    metadata: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """What the record knows of one episode, its steps apart.

    Attributes:
        id: 1 for the first episode of the run.
        plan: Task, seed, trial, agent, group and metadata.
        state: ``"planned"``, ``"running"`` (begun, perhaps by a process that died) or ``"done"``.
        params: What the task's slots were filled with.
        instruction: What the agent was told.
        sandbox: Name of the sandbox provider.
        first: The observation after reset, None before the episode began.
        verdict: How it was judged, None before it is done.
        error: Why the episode has no score, or how its policy failed; else empty.
        reset_s: Wall time of the reset.
        duration_s: Wall time of the whole, of its last run where it was resumed.
        steps: Number of recorded steps.
        usage: Tokens of all steps, and of replies that ended the episode without one.
        parent: ``(episode id, k)`` for a branch that shares the first `k` steps, else None.
        log: Notes on how it was run, one a line.
        audit: What the sandbox's audit holds, None where nobody told.
        prepared: Digest of what its setup left, empty if it was not noted.
    """

    id: int
    plan: EpisodePlan
    state: str
    params: Mapping[str, Json]
    instruction: str
    sandbox: str
    first: Observation | None
    verdict: Verdict | None
    error: str
    reset_s: float
    duration_s: float
    steps: int
    usage: TokenUsage
    parent: tuple[int, int] | None
    log: str = ""
    audit: Audit | None = None
    prepared: str = ""


class EpisodeRows:
    """Reads the rows of episodes.

    Args:
        database: The run's.
        packing: How values become columns.
        refused: The replies that led to no step.
    """

    def __init__(self, database: Database, packing: Packing, refused: RefusedReplies) -> None:
        self._database, self._packing, self._refused = database, packing, refused
        self._setups = Setups(database)

    def read(self, row: sqlite3.Row) -> EpisodeRow:
        """Return the episode of a row, to which the sums of its steps were joined.

        Raises:
            ValueError, RecordError: It is damaged; names the field.
        """
        if row["state"] == "done" and row["verdict"] is None:
            raise RecordError("it is done but has no verdict; resume the run to repeat it")
        for name, kind in _KINDS.items():
            expect(row[name], name, kind)
        return EpisodeRow(
            id=row["id"],
            plan=EpisodePlan(
                *(row["task"], row["seed"], row["trial"], row["agent"], row["episode_group"]),
                metadata=self._value(row, "metadata", dict, None),
            ),
            state=row["state"],
            params=self._value(row, "params", dict, {}),
            instruction=self._value(row, "instruction", str, ""),
            sandbox=row["sandbox"] or "",
            first=self._first(row["first"]),
            verdict=self._verdict(row["id"], row["verdict"]),
            error=self._value(row, "error", str, ""),
            reset_s=row["reset_s"],
            duration_s=row["duration_s"],
            steps=row["steps"] or 0,
            usage=TokenUsage(*(int(expect(row[name] or 0, name, NUMBER)) for name in _TOKENS))
            + self._refused.usage(row["id"]),
            parent=None if row["parent"] is None else (row["parent"], row["parent_step"] or 0),
            log=self._value(row, "log", str, ""),
            audit=self._audit(row["audit"]),
            prepared=self._setups.find(row["id"]),
        )

    def _value(self, row: sqlite3.Row, field: str, kind: type[T], absent: U) -> T | U:
        """Return a value of a kind; `absent` stands for an empty column."""
        if row[field] is None:
            return absent
        return read(kind, self._packing.unpack(row[field], field), field)

    def _first(self, packed: object) -> Observation | None:
        return None if packed is None else self._packing.unpack_observation(packed)

    def _audit(self, packed: object) -> Audit | None:
        if packed is None:
            return None
        return read(Audit, self._packing.unpack(packed, "audit"), "audit")

    def _verdict(self, episode_id: int, packed: object) -> Verdict | None:
        if packed is None:
            return None
        rows = self._database.rows(
            "SELECT id, phase, status, score, weight, message, gate, depth, bonus, controllable,"
            " step, channels FROM checkpoints WHERE episode = ? ORDER BY position",
            (episode_id,),
        )
        checkpoints = [
            {
                **dict(row),
                "message": self._packing.unpack(row["message"], "checkpoint.message"),
                **{flag: bool(row[flag]) for flag in ("gate", "bonus", "controllable")},
                "channels": self._packing.unpack(row["channels"], "checkpoint.channels"),
            }
            for row in rows
        ]
        verdict = expect(self._packing.unpack(packed, "verdict"), "verdict", dict)
        for result in read(tuple[CheckpointResult, ...], checkpoints, "checkpoint"):
            if not 0 <= result.depth <= _DEEPEST:
                raise ValueError(f"checkpoint.depth: expected 0 to {_DEEPEST}, got {result.depth}")
        return read(Verdict, {**verdict, "checkpoints": checkpoints}, "verdict")


def plan_values(plan: EpisodePlan) -> tuple[object, ...]:
    """Return the `PLAN_COLUMNS` of a plan."""
    metadata = None if plan.metadata is None else codec.dumps(plan.metadata)
    return plan.task, plan.seed, plan.trial, plan.agent, plan.group, metadata
