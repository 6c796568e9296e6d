"""Converts a step to a row of the table `steps` and back; a row has a digest of its columns."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import Final

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.generations import GenerationColumn
from agentgym.record.packing import Packing
from agentgym.record.prompts import RecentTokens
from agentgym.record.reading import NUMBER, expect, read
from agentgym.records import Step, StepEvent, StepEventKind, TokenUsage

Value = int | float | str | None

COLUMNS: Final = (
    *("episode", "step", "duration_s", "prompt_tokens", "completion_tokens", "cached_tokens"),
    *("decision", "observation", "events", "generations"),
)
"""Columns of the table `steps`, without `digest`."""

_VALUES: Final = f"({', '.join('?' * (len(COLUMNS) + 1))})"
INSERT: Final = f"INSERT INTO steps ({', '.join(COLUMNS)}, digest) VALUES {_VALUES}"

INSERTS: Final = tuple((count, INSERT + f", {_VALUES}" * (count - 1)) for count in (32, 8, 1))
"""Statements that insert several rows, whose values follow each other, the longest first. SQLite
releases the interpreter's lock for each statement, and other threads take it."""

_NO_EVENTS: Final = "[]"
"""The column `events` of most steps."""


# OpenSSL looks up the algorithm for each new hash, which takes longer than to hash a row.
_EMPTY: Final = hashlib.sha256()


def row_digest(columns: tuple[Value, ...]) -> str:
    r"""Return the SHA-256 of a row as 64 hex digits; a blob counts by its name.

    Columns are separated by tabs, which JSON writes as ``\t``. Unknown generations are left out,
    because the rows of older runs have no such column, and keep their digests.
    """
    told = columns if columns[-1] is not None else columns[:-1]
    digest = _EMPTY.copy()
    digest.update("\t".join(map(str, told)).encode("ascii", "replace"))
    return digest.hexdigest()


def copied_row(row: sqlite3.Row, episode_id: int) -> tuple[Value, ...]:
    """Return the values of `INSERTS` for the step of a row as a step of another episode.

    Raises:
        RecordError: The row does not match its digest.
    """
    columns = tuple(row[name] for name in COLUMNS)
    if row_digest(columns) != row["digest"]:
        raise RecordError(f"step {row['step']} of episode {row['episode']} is damaged")
    columns = (episode_id, *columns[1:])
    return (*columns, row_digest(columns))


class StepRows:
    """Writes and reads the rows of steps.

    Args:
        packing: Packs values into columns.
    """

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self._generations = GenerationColumn(packing)

    def row(
        self, episode_id: int, step: Step, picture: str | None, recent: RecentTokens
    ) -> tuple[Value, ...]:
        """Return the values of `INSERTS` for a step.

        Args:
            episode_id: Id of the episode.
            step: The step.
            picture: Name of the blob with its picture, None without one.
            recent: The generations before it in the trajectory.

        Raises:
            RecordError: A blob cannot be written.
        """
        decision, usage, packing = step.decision, step.decision.usage, self._packing
        generations = decision.generations
        columns: tuple[Value, ...] = (
            episode_id,
            step.index,
            float(step.duration_s),
            usage.prompt,
            usage.completion,
            usage.cached,
            packing.pack_text(codec.decision_to_text(decision)),
            packing.pack_text(codec.observation_to_text(step.observation, picture)),
            packing.pack(step.events) if step.events else _NO_EVENTS,
            None
            if generations is None
            else self._generations.pack(generations, step.index, recent),
        )
        return (*columns, row_digest(columns))

    def step(self, row: sqlite3.Row, recent: RecentTokens) -> Step:
        """Return the step of a row.

        Args:
            row: The row.
            recent: The generations before it in the trajectory.

        Raises:
            ValueError, RecordError: The row is damaged; the message names the column.
        """
        index = expect(row["step"], "step", int)
        observation = self._packing.unpack_observation(row["observation"])
        names = ("prompt", "completion", "cached")
        counts = {name: row[f"{name}_tokens"] for name in names}
        usage = read(TokenUsage, counts, "decision.usage")
        decision = codec.decision_from_json(
            self._packing.unpack(row["decision"], "decision"),
            usage,
            self._generations.unpack(row["generations"], index, recent),
        )
        duration_s = expect(row["duration_s"], "duration_s", NUMBER)
        if row_digest(tuple(row[name] for name in COLUMNS)) != row["digest"]:
            raise RecordError("it does not match its digest")
        return Step(index, decision, observation, duration_s, self.events(row["events"]))

    def events(self, column: object) -> tuple[StepEvent, ...]:
        """Return the events around a step.

        Raises:
            ValueError, RecordError: The column is damaged.
        """
        found = read(tuple[StepEvent, ...], self._packing.unpack(column, "events"), "events")
        for event in found:
            if (event.turn is not None) is not (event.kind is StepEventKind.USER):
                raise ValueError("events.turn: expected one in an event of the user, and no other")
        return found
