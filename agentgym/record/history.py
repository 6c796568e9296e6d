"""The history of an episode after its recording: gradings of its steps, and replaced verdicts.

Nothing here is ever changed or removed, even if the episode runs again. A grading names its steps
by their digest, so it is never shown beside other steps.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentgym.errors import RecordError
from agentgym.record.database import Database
from agentgym.record.lineage import Lineage
from agentgym.record.packing import Packing
from agentgym.record.reading import expect, read
from agentgym.record.recorder import write_verdict
from agentgym.records import Grading, Verdict


@dataclass(frozen=True, slots=True)
class PastVerdict:
    """A verdict that another one replaced.

    Attributes:
        verdict: The old verdict, with the digest of its verifier.
        error: Reason why it had no score, else empty.
        at: Time of the replacement, in ISO 8601 (UTC).
        why: Reason for the replacement.
        replaced_by: Digest of the verifier that gave the next verdict.
    """

    verdict: Verdict
    error: str
    at: str
    why: str
    replaced_by: str


class History:
    """The gradings and replaced verdicts in a run's record.

    Args:
        folder: The run folder, for messages.
        database: The run's database.
        packing: Packs values into columns.
        lineage: Reads trajectories.
    """

    def __init__(
        self, folder: Path, database: Database, packing: Packing, lineage: Lineage
    ) -> None:
        self._lineage = lineage
        self._folder = folder
        self._database = database
        self._packing = packing

    def trajectory(self, episode_id: int) -> str:
        """Return the digest of an episode's recorded steps, durations included: 64 hex digits."""
        rows = self._lineage.rows(episode_id, "digest")
        digests = "\n".join(str(row["digest"]) for row in rows)
        return hashlib.sha256(digests.encode(errors="replace")).hexdigest()

    # --- gradings --------------------------------------------------------------------------

    def add_gradings(self, episode_id: int, gradings: Sequence[Grading]) -> None:
        """Keep the gradings of an episode's steps: all of them or, if killed, none.

        Raises:
            RecordError: The disk is full.
        """
        rows = [
            (
                *(episode_id, one.at, one.grader, one.version, one.verifier),
                *(one.rubric, one.trajectory, one.steps, self._packing.pack(one.error)),
                self._packing.pack(one.grades),
            )
            for one in gradings
        ]
        with self._database.transaction():
            self._database.execute_many(
                "INSERT INTO gradings (episode, at, grader, version, verifier, rubric, trajectory,"
                " steps, error, grades) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

    def merge(self, episode_id: int, source: History, source_id: int) -> None:
        """Add the gradings of an episode of another run that was merged into this one.

        Args:
            episode_id: Number of the episode here.
            source: The history of the other run.
            source_id: Number of the episode there.

        Raises:
            RecordError: A grading is damaged.
        """
        found = source.gradings(source_id)
        if not found:
            return
        before, now = source.trajectory(source_id), self.trajectory(episode_id)
        # The steps are the same, but the digest of their rows covers the number of the episode.
        self.add_gradings(
            episode_id,
            [replace(one, trajectory=now) if one.trajectory == before else one for one in found],
        )

    def gradings(self, episode_id: int) -> list[Grading]:
        """Return all gradings of an episode, the oldest first, including those of earlier runs.

        Raises:
            RecordError: A grading is damaged.
        """
        with self._packing.within_memory():
            return [self._grading(row) for row in self._rows("gradings", episode_id)]

    def newest_gradings(self, episode_id: int) -> list[Grading]:
        """Return each grader's newest grading of the present steps.

        Raises:
            RecordError: A grading is damaged.
        """
        present = self.trajectory(episode_id)
        newest = {row["grader"]: row for row in self._rows("gradings", episode_id, present)}
        with self._packing.within_memory():
            return [self._grading(newest[name]) for name in sorted(newest, key=str)]

    def _grading(self, row: sqlite3.Row) -> Grading:
        with self._reading(row):
            names = ("grader", "version", "at", "verifier", "rubric", "trajectory", "steps")
            values = {name: row[name] for name in names}
            values |= {n: self._packing.unpack(row[n], n) for n in ("error", "grades")}
            return read(Grading, values, "grading")

    # --- verdicts --------------------------------------------------------------------------

    def replace_verdict(
        self, episode_id: int, old: Verdict, old_error: str, new: Verdict, *, at: str, why: str
    ) -> None:
        """Replace an episode's verdict and keep the old one: both or, if killed, neither.

        Args:
            episode_id: An episode that is done.
            old: Its verdict.
            old_error: Reason why that has no score, or how the policy failed; else empty.
            new: The new verdict, which has a score.
            at: Time of the replacement, in ISO 8601 (UTC).
            why: Reason for the replacement.

        Raises:
            RecordError: The disk is full.
        """
        with self._database.transaction():
            self._database.execute(
                "INSERT INTO past_verdicts (episode, at, why, replaced_by, verifier, verdict,"
                " error) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    *(episode_id, at, self._packing.pack(why), new.verifier, old.verifier),
                    self._packing.pack(old),
                    self._packing.pack(old_error),
                ),
            )
            # The error of a failed policy stays true, whatever the new score.
            error = old_error if old.scored else ""
            write_verdict(self._database, self._packing, episode_id, new, error)

    def past_verdicts(self, episode_id: int) -> list[PastVerdict]:
        """Return the earlier verdicts of an episode, the oldest first.

        Raises:
            RecordError: A verdict is damaged.
        """
        with self._packing.within_memory():
            return [self._past(row) for row in self._rows("past_verdicts", episode_id)]

    def _past(self, row: sqlite3.Row) -> PastVerdict:
        with self._reading(row):
            return PastVerdict(
                verdict=read(Verdict, self._packing.unpack(row["verdict"], "verdict"), "verdict"),
                error=expect(self._packing.unpack(row["error"], "error"), "error", str),
                at=expect(row["at"], "at", str),
                why=expect(self._packing.unpack(row["why"], "why"), "why", str),
                replaced_by=expect(row["replaced_by"], "replaced_by", str),
            )

    # --- reading ---------------------------------------------------------------------------

    def _rows(self, table: str, episode_id: int, trajectory: str | None = None) -> list[Any]:
        """Return the rows of an episode; with a trajectory, only the rows for it."""
        query, values = f"SELECT * FROM {table} WHERE episode = ?", [episode_id]
        if trajectory is None:
            return self._database.rows(f"{query} ORDER BY id", values)
        return self._database.rows(f"{query} AND trajectory = ? ORDER BY id", [*values, trajectory])

    @contextmanager
    def _reading(self, row: sqlite3.Row) -> Iterator[None]:
        try:
            yield
        except (RecordError, ValueError, RecursionError) as error:
            raise RecordError(
                f"{self._folder}: the history of episode {row['episode']} is damaged "
                f"({str(row['at'])[:40]}): {error}"
            ) from error
