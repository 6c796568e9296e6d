"""Takes down one episode of a run: its steps as they happen, notes, the verdict."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Sequence
from dataclasses import replace

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.database import Database
from agentgym.record.episode_rows import EpisodeRow
from agentgym.record.packing import Packing
from agentgym.record.pictures import recorded
from agentgym.record.prompts import KEPT, RecentTokens
from agentgym.record.refused import RefusedReplies
from agentgym.record.step_rows import INSERT, StepRows
from agentgym.records import Audit, Generation, Step, TokenUsage, Verdict


class Recorder:
    """Takes down one episode (an `EpisodeRecorder` of the protocols).

    Args:
        database: The run's.
        packing: How values become columns.
        episode_id: Which episode of the run it is.
        recorded: How many steps each episode has; the recorders of a run share it.
        earlier: The episode as it was recorded before; None if it was only planned.

    Attributes:
        earlier: The episode as it was recorded before; None if it was only planned.
    """

    def __init__(
        self,
        database: Database,
        packing: Packing,
        episode_id: int,
        recorded: dict[int, int],
        earlier: EpisodeRow | None = None,
    ) -> None:
        self.earlier = earlier
        self._database = database
        self._packing = packing
        self._rows = StepRows(packing)
        self._refused = RefusedReplies(database, packing)
        self._episode_id = episode_id
        self._recorded = recorded
        self._recent = RecentTokens()
        self._pictures: dict[int, str] = {}

    @property
    def steps(self) -> int:
        """Number of recorded steps of the episode."""
        return self._recorded[self._episode_id]

    def follow(self, steps: Sequence[Step]) -> None:
        """Note the recorded steps of a resumed or forked episode; later prompts build on them.

        Args:
            steps: The recorded steps, as read from the record or taken again.
        """
        self._recent = RecentTokens()
        for step in steps[-KEPT:]:
            self._recent = self._recent.after(step.index, step.decision.generations or ())

    def step(self, step: Step) -> None:
        """Record a finished step; when this returns, the death of the process cannot lose it.

        Raises:
            RecordError: The disk is full, or it is not the episode's next step.
        """
        usage, duration_s = step.decision.usage, float(step.duration_s)
        counts = (usage.prompt, usage.completion, usage.cached)
        following = self.steps
        if step.index != following:
            raise self._refusal(step, f"the next one is step {following}")
        if not all(type(n) is int and abs(n) < 2**63 for n in counts):
            raise self._refusal(step, f"the record cannot hold {usage}")
        if not math.isfinite(duration_s):
            raise self._refusal(step, f"the record cannot hold a duration of {duration_s}")
        picture = self._packing.pack_picture(step.observation)
        row = self._rows.row(self._episode_id, step, picture, self._recent)
        self._database.execute(INSERT, row)
        self._recorded[self._episode_id] += 1
        self._recent = self._recent.after(step.index, step.decision.generations or ())
        if picture is not None:
            self._pictures[step.index] = picture

    def without_picture(self, step: Step) -> Step:
        """Return a step whose picture, if it was recorded here, is read from the record."""
        picture = self._pictures.get(step.index)
        if picture is None:
            return step
        png = functools.partial(self._packing.blobs.get, picture)
        return replace(step, observation=recorded(step.observation, png))

    def _refusal(self, step: Step, why: str) -> RecordError:
        path = self._database.path.parent
        return RecordError(
            f"{path}: step {step.index} of episode {self._episode_id} is refused: {why}"
        )

    def note(self, line: str) -> None:
        """Add a line to the episode's log."""
        query = "SELECT log FROM episodes WHERE id = ?"
        (row,) = self._database.rows(query, (self._episode_id,))
        log = "" if row["log"] is None else self._packing.unpack(row["log"], "log")
        self._database.execute(
            "UPDATE episodes SET log = ? WHERE id = ?",
            (self._packing.pack(f"{log}{line}\n"), self._episode_id),
        )

    def finish(
        self,
        verdict: Verdict,
        *,
        duration_s: float,
        error: str = "",
        audit: Audit | None = None,
        refused: TokenUsage | None = None,
        generations: tuple[Generation, ...] | None = None,
    ) -> None:
        """Record the verdict, with it the number of steps it is about, and close the episode.

        Args:
            verdict: How it was judged.
            duration_s: Wall time of the whole.
            error: Why it has no score, or how the policy failed; else empty.
            audit: What the sandbox's audit holds.
            refused: Tokens of replies that ended the episode and led to no step.
            generations: Those replies, None if they are not known.
        """
        with self._database.transaction():
            write_verdict(self._database, self._packing, self._episode_id, verdict, error)
            self._database.execute(
                "UPDATE episodes SET state = 'done', duration_s = ?, audit = ?, length = ?"
                " WHERE id = ?",
                (
                    duration_s,
                    None if audit is None else self._packing.pack(audit),
                    self._recorded[self._episode_id],
                    self._episode_id,
                ),
            )
            self._refused.note(self._episode_id, refused or TokenUsage(), generations)
            self._database.execute(
                "UPDATE endings SET ended_s = ? WHERE episode = ? AND ended_s IS NULL",
                (time.time(), self._episode_id),
            )


def write_verdict(
    database: Database, packing: Packing, episode_id: int, verdict: Verdict, error: str
) -> None:
    """Put a verdict in place of what stands there; the caller holds the transaction.

    Args:
        database: The run's.
        packing: How values become columns.
        episode_id: Which episode was judged.
        verdict: How.
        error: Why it has no score, or how the policy failed; else empty.
    """
    value = codec.plain(verdict)
    del value["checkpoints"]  # they have a table of their own
    database.execute("DELETE FROM checkpoints WHERE episode = ?", (episode_id,))
    database.execute_many(
        f"INSERT INTO checkpoints VALUES ({', '.join('?' * 14)})",
        [
            (
                *(episode_id, position, c.id, c.phase, c.status, c.score, c.weight),
                *(packing.pack(c.message), c.gate, c.depth, c.bonus),
                *(c.controllable, c.step, packing.pack(c.channels)),
            )
            for position, c in enumerate(verdict.checkpoints)
        ],
    )
    database.execute(
        "UPDATE episodes SET verdict = ?, error = ? WHERE id = ?",
        (packing.pack(value), packing.pack(error), episode_id),
    )
