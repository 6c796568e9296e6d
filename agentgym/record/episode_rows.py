"""An episode as planned and as recorded, read from the table `episodes`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.bounds import Spent
from agentgym.record.database import Database
from agentgym.record.lineage import origin_of
from agentgym.record.packing import Packing
from agentgym.record.reading import NUMBER, expect, read
from agentgym.record.refused import RefusedReplies
from agentgym.record.setups import Setups
from agentgym.records import Audit, CheckpointResult, Json, Observation, TokenUsage, Verdict

_TOKENS = ("prompt", "completion", "cached")

_KINDS = {
    **{"task": str, "seed": int, "trial": int, "agent": str, "sandbox": str | None},
    **{"reset_s": NUMBER, "duration_s": NUMBER},
    **{"state": str, "episode_group": str | None},
}
"""Types of columns that reading checks, because SQLite accepts any value in any column."""

_DEEPEST: Final = 100
"""Largest depth of a checkpoint in its rubric, because it is shown with that many indents."""

T = TypeVar("T")
U = TypeVar("U")

EPISODES: Final = """
WITH sums AS (
    SELECT s.episode, COUNT(*) AS steps,
           TOTAL(prompt_tokens) FILTER (WHERE step >= begun) AS prompt,
           TOTAL(completion_tokens) FILTER (WHERE step >= begun) AS completion,
           TOTAL(cached_tokens) FILTER (WHERE step >= begun) AS cached
    FROM steps s JOIN (SELECT id, COALESCE(parent_step, 0) AS begun FROM episodes) p
    ON p.id = s.episode WHERE s.episode BETWEEN ?1 AND ?2 GROUP BY s.episode
)
SELECT e.*, sums.* FROM episodes e LEFT JOIN sums ON sums.episode = e.id
WHERE e.id BETWEEN ?1 AND ?2 ORDER BY e.id
"""
"""Query for the rows of the episodes from id `?1` to id `?2`, with the sums of their steps."""

_PART: Final = 500
_IDS: Final = f"SELECT id FROM episodes WHERE id > ? ORDER BY id LIMIT {_PART}"


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """One planned episode.

    Attributes:
        task: Id of its task.
        seed: Seed of its instance.
        trial: Number of the attempt at the task, counted from 0.
        agent: Spec of the agent.
        group: Name of the group in which a trainer compares the episode, None without a group.
        metadata: Data that the planner attaches to it; None differs from an empty object.
    """

    task: str
    seed: int
    trial: int
    agent: str
    group: str | None = None
    metadata: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One recorded episode, without its steps.

    Attributes:
        id: 1 for the first episode of the run.
        plan: Task, seed, trial, agent, group and metadata.
        state: ``"planned"``, ``"running"`` (begun, perhaps by a process that died) or ``"done"``.
        params: Values of the task's slots.
        instruction: Instruction for the agent.
        sandbox: Name of the sandbox provider.
        first: The observation after reset, None before the episode began. Its picture is read from
            the record each time it is asked for.
        verdict: The verdict, None before the episode is done.
        error: Reason why the episode has no score, or how its policy failed; else empty.
        reset_s: Wall time of the reset, in seconds.
        duration_s: Wall time of the whole episode in seconds; of its last run if it was resumed.
        steps: Number of steps, those before a fork or a branch included.
        usage: Tokens of its steps, and of replies that ended the episode without one. Tokens of the
            steps before a fork or a branch belong to its parent.
        parent: ``(episode id, k)`` if it left another episode after `k` steps, else None.
        log: Notes about the run of the episode, one a line.
        audit: Audit of the sandbox, None if it was not recorded.
        prepared: Digest of the state that its setup left, empty if it was not recorded.
        forked: Whether it began in a live fork of its parent; else the steps of its parent were
            executed again.
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
    forked: bool = False


class EpisodeRows:
    """Reads the rows of episodes.

    Args:
        database: The run's database.
        packing: Packs values into columns.
        refused: Replies that led to no step.
    """

    def __init__(self, database: Database, packing: Packing, refused: RefusedReplies) -> None:
        self._database, self._packing, self._refused = database, packing, refused
        self._setups = Setups(database)

    def read(self, row: sqlite3.Row) -> EpisodeRow:
        """Return the episode of a row that also holds the sums of its steps.

        Raises:
            ValueError, RecordError: The row is damaged; the message names the field.
        """
        if row["state"] == "done" and row["verdict"] is None:
            raise RecordError("it is done but has no verdict; resume the run to repeat it")
        for name, kind in _KINDS.items():
            expect(row[name], name, kind)
        origin = origin_of(row)
        return EpisodeRow(
            id=row["id"],
            plan=EpisodePlan(
                *(row["task"], row["seed"], row["trial"], row["agent"], row["episode_group"]),
                metadata=self._metadata(row),
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
            steps=origin.shared + (row["steps"] or 0),
            usage=TokenUsage(*(int(expect(row[name] or 0, name, NUMBER)) for name in _TOKENS))
            + self._refused.usage(row["id"]),
            parent=None if origin.parent is None else (origin.parent, origin.at),
            log=self._value(row, "log", str, ""),
            audit=self._audit(row["audit"]),
            prepared=self._setups.find(row["id"]),
            forked=origin.forked,
        )

    def _value(self, row: sqlite3.Row, field: str, kind: type[T], absent: U) -> T | U:
        """Return a value of a kind; `absent` replaces an empty column."""
        if row[field] is None:
            return absent
        return read(kind, self._packing.unpack(row[field], field), field)

    def _metadata(self, row: sqlite3.Row) -> Mapping[str, Json] | None:
        found = self._value(row, "metadata", dict, None)
        try:
            json.dumps(found, allow_nan=False)
        except ValueError:
            raise ValueError("metadata: expected finite numbers") from None
        return found

    def _first(self, packed: object) -> Observation | None:
        return None if packed is None else self._packing.unpack_light_observation(packed)

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


def rows_by_parts(database: Database, query: str) -> Iterator[sqlite3.Row]:
    """Yield the rows of a query about all episodes; a run may have 100,000 of them.

    Args:
        database: The run's database.
        query: The query about the episodes from id `?1` to id `?2`.

    Raises:
        RecordError: The database is damaged.
    """
    last, listing, spent = 0, Spent(), Spent()
    while ids := [row["id"] for row in database.rows(_IDS, (last,), listing)]:
        if last >= ids[0] or sorted(set(ids)) != ids:
            raise RecordError(f"{database.path} is damaged: the ids of its episodes do not ascend")
        last = ids[-1]
        yield from database.rows(query, (ids[0], last), spent)
