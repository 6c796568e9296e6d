"""A run on disk: its plan, its episodes, their steps and verdicts; format ``agentgym.run/3``.

One process writes, any number read, also while it is written. A step is on file as soon as it
is recorded, so a process killed at any moment loses at most the step in flight.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.blobs import BlobStore
from agentgym.record.database import Database, create_database
from agentgym.record.endings import Endings
from agentgym.record.history import History
from agentgym.record.journal import COLUMNS, as_line, digest
from agentgym.record.packing import Packing
from agentgym.record.recorder import Recorder
from agentgym.record.refused import note_refused, refused_usage
from agentgym.record.setups import Setups
from agentgym.record.step_events import events_from_json
from agentgym.records import (
    Audit,
    Decision,
    Json,
    Observation,
    Step,
    StepEvent,
    TokenUsage,
    Verdict,
)

# The conditions on `steps` stand where SQLite can use its key, in a reader's view as well.
_EPISODES = """
WITH sums AS (
    SELECT episode, COUNT(*) AS steps, TOTAL(prompt_tokens) AS prompt,
           TOTAL(completion_tokens) AS completion, TOTAL(cached_tokens) AS cached
    FROM steps WHERE episode BETWEEN ?1 AND ?2 GROUP BY episode
)
SELECT e.*, sums.* FROM episodes e LEFT JOIN sums ON sums.episode = e.id
WHERE e.id BETWEEN ?1 AND ?2 ORDER BY e.id
"""

_WITH_HAPPENINGS = "SELECT episode, step, happenings FROM steps WHERE happenings != ?"
_STEPS = """
SELECT e.length, s.* FROM episodes e
LEFT JOIN (SELECT * FROM steps WHERE episode = ?1) s ON s.episode = e.id
WHERE e.id = ?1 ORDER BY s.step
"""

_TOKENS = ("prompt", "completion", "cached")

_KINDS = {
    **{"task": str, "seed": int, "trial": int, "agent": str, "sandbox": str | None},
    **{"reset_s": codec.NUMBER, "duration_s": codec.NUMBER},
    **{"state": str, "parent": int | None, "parent_step": int | None},
}
"""The columns that SQLite, which takes any value anywhere, would not have kept in order."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """One episode as it was planned."""

    task: str
    seed: int
    trial: int
    agent: str


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """What the record knows of one episode, its steps apart.

    Attributes:
        id: 1 for the first episode of the run.
        plan: Task, seed, trial and agent.
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


class RunStore:
    """The record of one run, in one folder.

    Make one with `create` or `open`; close it at the end.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plan = EpisodePlan("terminal/demo-v1", seed=0, trial=0, agent="noop")
        ...     store = RunStore.create(Path(folder), {"trials": 1}, [plan])
        ...     print(store.episode(1).state)
        ...     store.close()
        planned

    Attributes:
        folder: The run folder.
        settings: What the run was started with.
        history: What was thought of its episodes later.
        endings: When its episodes were recorded, and what of their ends was kept.
        setups: What its episodes began on.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder = folder
        self._database = database
        blobs = BlobStore(folder / "blobs")
        self._packing = Packing(blobs)
        self.endings = Endings(folder, database, self._packing, blobs)
        self._recorded: dict[int, int] = {}
        self.history = History(folder, database, self._packing)
        self.setups = Setups(database)
        with self._reading("the run"):
            settings = self._packing.unpack(database.settings, "settings")
            self.settings: Mapping[str, Json] = codec.expect(settings, "settings", dict)

    @classmethod
    def create(
        cls, folder: Path, settings: Mapping[str, Json], plans: Sequence[EpisodePlan]
    ) -> RunStore:
        """Lay down a new run and open it for writing.

        Raises:
            RecordError: The folder holds a run already or cannot be written.
        """
        rows = [(plan.task, plan.seed, plan.trial, plan.agent) for plan in plans]
        create_database(folder, codec.dumps(settings), rows)
        return cls.open(folder, readonly=False)

    @classmethod
    def open(cls, folder: Path, *, readonly: bool = True) -> RunStore:
        """Open a run.

        Args:
            folder: The run folder.
            readonly: False to write; there is one writer at a time.

        Raises:
            RecordError: It is no run, damaged, of another format version, or being written.
        """
        database = Database(folder, readonly=readonly)
        try:
            return cls(folder, database)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Close the record; a writer lets others write."""
        self._database.close()

    def amend(self, name: str, value: Json) -> None:
        """Note one more setting of the run, once it is known.

        Raises:
            RecordError: It cannot be written.
        """
        self.settings = {**self.settings, name: value}
        text = codec.dumps(dict(self.settings))
        self._database.execute("UPDATE meta SET value = ? WHERE key = 'settings'", (text,))

    def add(self, plan: EpisodePlan, parent: tuple[int, int] | None = None) -> int:
        """Plan one more episode and return its id.

        Args:
            plan: What to run.
            parent: ``(episode id, k)`` where it branches off after `k` steps of another.
        """
        return self._database.execute(
            "INSERT INTO episodes (task, seed, trial, agent, parent, parent_step)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (plan.task, plan.seed, plan.trial, plan.agent, *(parent or (None, None))),
        )

    # --- reading ---------------------------------------------------------------------------

    def episodes(self) -> list[EpisodeRow]:
        """Return every episode in the order of the plan, branches last.

        Raises:
            RecordError: One of them is damaged.
        """
        self._database.gather_steps()
        return [self._episode(row) for row in self._database.rows(_EPISODES, (1, 2**63 - 1))]

    def episode(self, id: int) -> EpisodeRow:
        """Return one episode.

        Raises:
            RecordError: The run has no such episode, or it is damaged.
        """
        self._database.gather_steps()
        rows = self._database.rows(_EPISODES, (id, id))
        if not rows:
            count = self._database.rows("SELECT COUNT(*) AS n FROM episodes")[0]["n"]
            known = f"its episodes are 1 to {count}" if count else "it has none"
            raise RecordError(f"{self.folder} has no episode {id}; {known}")
        return self._episode(rows[0])

    def steps(self, episode_id: int) -> list[Step]:
        """Return the recorded steps of an episode.

        Raises:
            RecordError: One of them is damaged or missing.
        """
        self._database.gather_steps()
        found = self._database.rows(_STEPS, (episode_id,))
        rows = [row for row in found if row["step"] is not None]
        with self._reading(f"episode {episode_id}"):
            lengths = [codec.expect(row["length"], "length", int | None) for row in found[:1]]
            present = {row["step"] for row in rows}
            for index in range(max([len(rows), *filter(None, lengths)])):
                if index not in present:
                    raise RecordError(f"step {index} is missing")
        return [self._step(row) for row in rows]

    def events(self) -> list[tuple[int, StepEvent]]:
        """Return what happened around the agents, each with the id of its episode.

        Raises:
            RecordError: A step is damaged.
        """
        self._database.gather_steps()
        found = list[tuple[int, StepEvent]]()
        # Most steps have none, and need not be read.
        for row in self._database.rows(_WITH_HAPPENINGS, (self._packing.pack([]),)):
            with self._reading(f"step {row['step']} of episode {row['episode']}"):
                happened = events_from_json(self._packing.unpack(row["happenings"], "happenings"))
            found += [(row["episode"], event) for event in happened]
        return found

    def unjudged(self) -> list[int]:
        """Return the episodes that are done and yet have no verdict: the record lost it."""
        query = "SELECT id FROM episodes WHERE state = 'done' AND verdict IS NULL"
        return [row["id"] for row in self._database.rows(query)]

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Say of what a damaged value is a part."""
        try:
            yield
        except (RecordError, ValueError, RecursionError) as error:
            raise RecordError(f"{self.folder}: {what} is damaged: {error}") from error

    def _step(self, row: sqlite3.Row) -> Step:
        with self._reading(f"step {row['step']} of episode {row['episode']}"):
            codec.expect(row["step"], "step", int)
            observation = self._packing.unpack_observation(row["observation"])
            decision = self._decision(row)
            duration_s = codec.expect(row["duration_s"], "duration_s", codec.NUMBER)
            if digest(as_line(*(row[name] for name in COLUMNS))) != row["digest"]:
                raise RecordError("it does not match its digest")
            happenings = events_from_json(self._packing.unpack(row["happenings"], "happenings"))
        return Step(row["step"], decision, observation, duration_s, happenings)

    def _decision(self, row: sqlite3.Row) -> Decision:
        names = ("prompt", "completion", "cached")
        usage = {name: row[f"{name}_tokens"] for name in names}
        value = codec.expect(self._packing.unpack(row["decision"], "decision"), "decision", dict)
        return codec.decision_from_json({**value, "usage": usage})

    def _episode(self, row: sqlite3.Row) -> EpisodeRow:
        with self._reading(f"episode {row['id']}"):
            if row["state"] == "done" and row["verdict"] is None:
                raise RecordError("it is done but has no verdict; resume the run to repeat it")
            for name, kind in _KINDS.items():
                codec.expect(row[name], name, kind)
            return EpisodeRow(
                id=row["id"],
                plan=EpisodePlan(row["task"], row["seed"], row["trial"], row["agent"]),
                state=row["state"],
                params=self._value(row, "params", {}),
                instruction=self._value(row, "instruction", ""),
                sandbox=row["sandbox"] or "",
                first=self._first(row["first"]),
                verdict=self._verdict(row["id"], row["verdict"]),
                error=self._value(row, "error", ""),
                reset_s=row["reset_s"],
                duration_s=row["duration_s"],
                steps=row["steps"] or 0,
                usage=TokenUsage(
                    *(int(codec.expect(row[name] or 0, name, codec.NUMBER)) for name in _TOKENS)
                )
                + refused_usage(self._database, row["id"]),
                parent=None if row["parent"] is None else (row["parent"], row["parent_step"] or 0),
                log=self._value(row, "log", ""),
                audit=self._audit(row["audit"]),
                prepared=self.setups.find(row["id"]),
            )

    def _value(self, row: sqlite3.Row, field: str, absent: T) -> T:
        """Return a value of the kind of `absent`, which stands for an empty column."""
        if row[field] is None:
            return absent
        value: T = codec.expect(self._packing.unpack(row[field], field), field, type(absent))
        return value

    def _first(self, packed: object) -> Observation | None:
        return None if packed is None else self._packing.unpack_observation(packed)

    def _audit(self, packed: object) -> Audit | None:
        if packed is None:
            return None
        return codec.audit_from_json(self._packing.unpack(packed, "audit"))

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
        verdict = codec.expect(self._packing.unpack(packed, "verdict"), "verdict", dict)
        return codec.verdict_from_json({**verdict, "checkpoints": checkpoints})

    # --- writing ---------------------------------------------------------------------------

    def begin(
        self,
        episode_id: int,
        *,
        params: Mapping[str, Json],
        instruction: str,
        sandbox: str,
        reset_s: float,
        first: Observation | None,
    ) -> Recorder:
        """Mark an episode as running and return what takes down the rest of it.

        Steps that are there already stay: the episode is being resumed. `first` is None
        where the reset failed.

        Raises:
            RecordError: The episode is done.
        """
        row = self.episode(episode_id)
        if row.state == "done":
            raise RecordError(
                f"{self.folder}: episode {episode_id} is done; reset it to run it again"
            )
        self._database.execute(
            "UPDATE episodes SET state = 'running', params = ?, instruction = ?, sandbox = ?,"
            " reset_s = ?, first = ? WHERE id = ?",
            (
                self._packing.pack(params),
                self._packing.pack(instruction),
                sandbox,
                reset_s,
                None if first is None else self._packing.pack_observation(first),
                episode_id,
            ),
        )
        self._recorded[episode_id] = row.steps
        return Recorder(self._database, self._packing, episode_id, self._recorded)

    def reset_episode(self, episode_id: int) -> None:
        """Put an episode back to planned and drop its steps; its history stays."""
        # First of all by itself: steps still in the journal of a killed process would come back.
        self._database.gather_steps()
        with self._database.transaction():
            self._database.execute("DELETE FROM steps WHERE episode = ?", (episode_id,))
            self._database.execute("DELETE FROM checkpoints WHERE episode = ?", (episode_id,))
            self._database.execute("DELETE FROM endings WHERE episode = ?", (episode_id,))
            self._database.execute("DELETE FROM setups WHERE episode = ?", (episode_id,))
            note_refused(self._database, episode_id, TokenUsage())
            self._database.execute(
                "UPDATE episodes SET state = 'planned', params = NULL, instruction = NULL,"
                " sandbox = NULL, first = NULL, verdict = NULL, error = NULL, log = NULL,"
                " audit = NULL, length = NULL, reset_s = 0, duration_s = 0 WHERE id = ?",
                (episode_id,),
            )
