"""The recorded ends of episodes: their times, and the evidence kept to judge them again.

Each episode has one row. The final state itself is a blob.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from agentgym.errors import RecordError
from agentgym.record.blobs import BlobStore
from agentgym.record.database import Database
from agentgym.record.packing import Packing
from agentgym.record.reading import expect, read
from agentgym.records import Json

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ending:
    """The recorded end of an episode.

    Attributes:
        began_s: Time at which its sandbox was started, in seconds since 1970 (UTC).
        ended_s: Time of the verdict, None if the episode has no verdict.
        evidence: Evidence besides the files, as JSON; empty if the episode is not over.
        state: Name of the blob that holds the final state, empty if it was not kept.
        state_bytes: Size of that blob, uncompressed.
        unkept: Reason why the state was not kept, else empty.
    """

    began_s: float
    ended_s: float | None = None
    evidence: Mapping[str, Json] = field(default_factory=dict)
    state: str = ""
    state_bytes: int = 0
    unkept: str = ""


class Endings:
    """The endings in a run's record.

    Args:
        folder: The run folder, for messages.
        database: The run's database.
        packing: Packs values into columns.
        blobs: Blobs with the final states.
    """

    def __init__(
        self, folder: Path, database: Database, packing: Packing, blobs: BlobStore
    ) -> None:
        self._folder, self._database = folder, database
        self._packing, self._blobs = packing, blobs
        self._sizes: dict[str, int] | None = None
        self._bytes = 0

    def begin(self, episode_id: int, began_s: float) -> None:
        """Record the start of an episode; a resumed episode keeps the time of its first start."""
        self._database.execute(
            "INSERT INTO endings (episode, began_s) VALUES (?, ?) ON CONFLICT DO NOTHING",
            (episode_id, began_s),
        )

    def finish(self, episode_id: int, ending: Ending, state: bytes | None = None) -> None:
        """Record the end of an episode that has begun.

        Args:
            episode_id: Id of the episode.
            ending: The ending; its `began_s`, `state` and `state_bytes` are ignored.
            state: The final state, None if it is not kept.

        Raises:
            RecordError: The disk is full.
        """
        name = "" if state is None else self._blobs.put(state)
        if state is not None and self._sizes is not None and name not in self._sizes:
            self._sizes[name] = len(state)
            self._bytes += len(state)
        self._database.execute(
            "UPDATE endings SET ended_s = ?, evidence = ?, state = ?, state_bytes = ?, unkept = ?"
            " WHERE episode = ?",
            (
                *(ending.ended_s, self._packing.pack(dict(ending.evidence)), name),
                *(len(state or b""), ending.unkept, episode_id),
            ),
        )

    def remove(self, episode_id: int) -> None:
        """Remove the ending of an episode that is played again."""
        self.read_sizes_again()
        self._database.execute("DELETE FROM endings WHERE episode = ?", (episode_id,))

    def read_sizes_again(self) -> None:
        """Count the kept final states anew, because others than `finish` changed them."""
        self._sizes = None

    def find(self, episode_id: int) -> Ending | None:
        """Return the ending of an episode, None if the record has none.

        Raises:
            RecordError: The ending is damaged.
        """
        found = self._rows("SELECT * FROM endings WHERE episode = ?", episode_id)
        return self._ending(found[0]) if found else None

    def _ending(self, row: Any) -> Ending:
        try:
            values = {name: row[name] for name in _COLUMNS}
            if row["evidence"] is not None:
                values["evidence"] = self._packing.unpack(row["evidence"], "evidence")
            return read(Ending, values, "ending")
        except (RecordError, ValueError) as error:
            raise RecordError(
                f"{self._folder}: the ending of episode {row['episode']} is damaged: {error}"
            ) from error

    def state(self, ending: Ending) -> bytes:
        """Return a kept final state.

        Raises:
            RecordError: The state is missing or damaged.
        """
        return self._blobs.get(ending.state)

    def kept(self) -> tuple[int, int]:
        """Return the number of kept final states and their bytes; equal states count once.

        Raises:
            RecordError: An ending is damaged.
        """
        count = self._rows("SELECT COUNT(*) AS n FROM endings WHERE state != ''")
        return (count[0]["n"] if count else 0), sum(self._read_sizes().values())

    @property
    def kept_bytes(self) -> int:
        """Bytes of all kept final states. The writer reads the record once, not at each episode."""
        if self._sizes is None:
            self._sizes = self._read_sizes()
            self._bytes = sum(self._sizes.values())
        return self._bytes

    def _read_sizes(self) -> dict[str, int]:
        rows = self._rows("SELECT state, MAX(state_bytes) AS n FROM endings GROUP BY state")
        return {self._cell(row, "state", str): self._cell(row, "n", int) for row in rows if row[0]}

    def unkept(self) -> dict[int, str]:
        """Return the reasons why final states were not kept, by episode.

        Raises:
            RecordError: An ending is damaged.
        """
        rows = self._rows("SELECT episode, unkept FROM endings WHERE unkept != ''")
        return {self._cell(row, "episode", int): self._cell(row, "unkept", str) for row in rows}

    def _cell(self, row: Any, name: str, kind: type[T]) -> T:
        try:
            found: T = expect(row[name], name, kind)
        except ValueError as error:
            raise RecordError(f"{self._folder}: an ending is damaged: {error}") from error
        return found

    def _rows(self, query: str, *values: object) -> list[Any]:
        return self._database.rows(query, values)


_COLUMNS: Final = ("began_s", "ended_s", "state", "state_bytes", "unkept")
