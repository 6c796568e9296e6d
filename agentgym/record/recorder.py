"""Takes down one episode of a run: its steps as they happen, notes, the verdict."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.database import Database
from agentgym.record.episode_rows import EpisodeRow
from agentgym.record.packing import Packing
from agentgym.record.pictures import recorded
from agentgym.record.prompts import KEPT, RecentTokens
from agentgym.record.refused import RefusedReplies
from agentgym.record.step_rows import INSERTS, StepRows, Value
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
        write_steps(self._database, [self.pack((step,))])

    def pack(self, steps: Sequence[Step]) -> PackedSteps:
        """Return the next steps of the episode as rows, for `write_steps`.

        Raises:
            RecordError: A blob cannot be written, or they are not the episode's next steps.
        """
        rows, pictures, recent = list[tuple[Value, ...]](), dict[int, str](), self._recent
        for following, step in enumerate(steps, self.steps):
            self._check(step, following)
            picture = None
            if step.observation.image is not None:
                picture = self._packing.pack_picture(step.observation)
                assert picture is not None
                pictures[step.index] = picture
            rows.append(self._rows.row(self._episode_id, step, picture, recent))
            if step.decision.generations:
                recent = recent.after(step.index, step.decision.generations)
        return PackedSteps(self, self.steps, rows, pictures, self._recent, recent)

    def accept(self, packed: PackedSteps) -> None:
        """Note that packed steps are on file."""
        self._recorded[self._episode_id] += len(packed.rows)
        self._recent = packed.recent
        self._pictures |= packed.pictures

    def withdraw(self, packed: PackedSteps) -> None:
        """Note that the transaction which wrote packed steps, the last ones, has failed."""
        first = packed.first
        if self._recorded[self._episode_id] > first:
            self._recorded[self._episode_id] = first
            self._recent = packed.before
            for index in packed.pictures:
                self._pictures.pop(index, None)

    def _check(self, step: Step, following: int) -> None:
        """Refuse a step that is not the next one, or whose numbers no column holds."""
        if step.index != following:
            raise self._refusal(step, f"the next one is step {following}")
        usage = step.decision.usage
        for count in (usage.prompt, usage.completion, usage.cached):
            if type(count) is not int or abs(count) >= 2**63:
                raise self._refusal(step, f"the record cannot hold {usage}")
        if not math.isfinite(step.duration_s):
            raise self._refusal(step, f"the record cannot hold a duration of {step.duration_s}")

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


@dataclass(frozen=True, slots=True, eq=False)
class PackedSteps:
    """Steps of one episode as rows that are not written yet.

    Attributes:
        recorder: The recorder of the episode.
        first: Index of the first one.
        rows: The rows.
        pictures: Names of the blobs with their pictures, by the index of the step.
        before: The last generations before these steps.
        recent: The last generations after these steps.
    """

    recorder: Recorder
    first: int
    rows: list[tuple[Value, ...]]
    pictures: dict[int, str]
    before: RecentTokens
    recent: RecentTokens


def write_steps(database: Database, batch: Sequence[PackedSteps]) -> None:
    """Write steps of any number of episodes: all of them, or none.

    When this returns, the death of the process cannot lose them.

    Args:
        database: The run's.
        batch: The steps, of each episode once.

    Raises:
        RecordError: The disk is full.
    """
    rows = [row for packed in batch for row in packed.rows]
    if len(rows) == 1:
        database.execute(INSERTS[-1][1], rows[0])  # a transaction of its own
    elif rows:
        with database.transaction():
            for count, statement in INSERTS:
                while len(rows) >= count:
                    values = itertools.chain.from_iterable(rows[:count])
                    database.execute(statement, tuple(values))
                    rows = rows[count:]
    for packed in batch:
        packed.recorder.accept(packed)


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
