"""A run on disk: its plan, its episodes, their steps and verdicts; see `migrations` for its format.

One process writes; any number of processes read, also meanwhile. A step is on file as soon as it is
recorded, so a process killed at any moment loses at most the current step.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from pathlib import Path

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.blobs import BlobStore
from agentgym.record.database import PLAN_COLUMNS, Database, create_database
from agentgym.record.endings import Endings
from agentgym.record.episode_rows import (
    EPISODES,
    EpisodePlan,
    EpisodeRow,
    EpisodeRows,
    plan_values,
    rows_by_parts,
)
from agentgym.record.episode_states import EpisodeStates
from agentgym.record.history import History
from agentgym.record.lineage import Lineage
from agentgym.record.merging import Merge, NoRoom
from agentgym.record.packing import Packing
from agentgym.record.prompts import RecentTokens
from agentgym.record.reading import expect
from agentgym.record.recorder import PackedSteps, Recorder, write_steps
from agentgym.record.refused import RefusedReplies
from agentgym.record.setups import Setups
from agentgym.record.step_memory import within_memory
from agentgym.record.step_rows import StepRows
from agentgym.record.waiting import RecordThread
from agentgym.records import (
    Generation,
    Json,
    Observation,
    Step,
    StepEvent,
)

__all__ = ["EpisodePlan", "EpisodeRow", "RunStore"]

_WITH_EVENTS = """
SELECT episode, step, events FROM steps WHERE events != '[]' AND episode BETWEEN ?1 AND ?2
"""
_LENGTH = "SELECT length, shared FROM episodes WHERE id = ?"


class RunStore:
    """The record of one run, in one folder.

    Create one with `create` or `open`, and close it at the end.

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
        settings: Settings of the run.
        history: Gradings and replaced verdicts of its episodes.
        endings: Times of its episodes, and their kept final states.
        setups: Digests of its episodes' prepared setups.
        is_open: Whether it was not closed yet.
        threads: The one thread on which live episodes are recorded, so that no event loop waits
            for the disk; its `finish` waits while the disk is full.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self.folder, self.is_open = folder, True
        self._database = database
        blobs = BlobStore(folder / "blobs")
        self._packing = Packing(blobs)
        self.endings = Endings(folder, database, self._packing, blobs)
        self._recorded: dict[int, int] = {}
        self._lineage = Lineage(database)
        self.history = History(folder, database, self._packing, self._lineage)
        self.setups = Setups(database)
        self.threads = RecordThread()
        self._steps = StepRows(self._packing)
        self._refused = RefusedReplies(database, self._packing)
        self._episodes = EpisodeRows(database, self._packing, self._refused)
        self._states = EpisodeStates(
            *(database, self._packing, self._lineage, self.endings, self._refused)
        )
        with self._reading("the run"):
            settings = self._packing.unpack(database.settings, "settings")
            self.settings: Mapping[str, Json] = expect(settings, "settings", dict)

    @classmethod
    def create(
        cls,
        folder: str | PathLike[str],
        settings: Mapping[str, Json],
        plans: Sequence[EpisodePlan],
    ) -> RunStore:
        """Create a new run and open it for writing.

        Raises:
            RecordError: The folder holds a run already or cannot be written.
        """
        create_database(Path(folder), codec.dumps(settings), map(plan_values, plans))
        return cls.open(folder, readonly=False)

    @classmethod
    def open(cls, folder: str | PathLike[str], *, readonly: bool = True) -> RunStore:
        """Open a run.

        Args:
            folder: The run folder.
            readonly: False to write; there is one writer at a time.

        Raises:
            RecordError: The folder holds no run, or the run is damaged, has another format version,
                or is being written.
        """
        database = Database(Path(folder), readonly=readonly)
        try:
            return cls(Path(folder), database)
        except BaseException:
            database.close()
            raise

    def close(self) -> None:
        """Close the record after the calls in progress; the lock of a writer is released."""
        self.is_open = False
        self.threads.close()
        self._database.close()

    def amend(self, name: str, value: Json) -> None:
        """Add a setting of the run that is only known later.

        Raises:
            RecordError: The setting cannot be written.
        """
        self.settings = {**self.settings, name: value}
        text = codec.dumps(dict(self.settings))
        self._database.execute("UPDATE meta SET value = ? WHERE key = 'settings'", (text,))

    def add(
        self,
        plan: EpisodePlan,
        parent: tuple[int, int] | None = None,
        *,
        shared: int = 0,
        forked: bool = False,
    ) -> int:
        """Plan one more episode and return its id.

        Args:
            plan: The episode to add.
            parent: ``(episode id, k)`` if it leaves another after `k` steps.
            shared: Number of steps that are the parent's own and are not recorded again, at most
                `k`. The next recorded step has this index.
            forked: Whether it begins in a live fork of the parent.
        """
        return self._database.execute(
            f"INSERT INTO episodes ({', '.join(PLAN_COLUMNS)}, parent, parent_step, shared, forked)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*plan_values(plan), *(parent or (None, None)), shared, forked),
        )

    # --- reading ---------------------------------------------------------------------------

    def episodes(self) -> list[EpisodeRow]:
        """Return every episode in the order of the plan, branches last.

        Raises:
            RecordError: An episode is damaged, or they would take more than half of this machine's
                memory.
        """
        with self._packing.within_memory():
            return [self._episode(row) for row in rows_by_parts(self._database, EPISODES)]

    def episode(self, id: int) -> EpisodeRow:
        """Return one episode.

        Raises:
            RecordError: The run has no such episode, or it is damaged.
        """
        rows = self._database.rows(EPISODES, (id, id))
        if not rows:
            count = self._database.rows("SELECT COUNT(*) AS n FROM episodes")[0]["n"]
            known = f"its episodes are 1 to {count}" if count else "it has none"
            raise RecordError(f"{self.folder} has no episode {id}; {known}")
        with self._packing.within_memory():
            return self._episode(rows[0])

    def steps(self, episode_id: int) -> list[Step]:
        """Return the steps of an episode, those before a fork included.

        A blob of few bytes may be a picture of 200 MB, and each step may name it.

        Raises:
            RecordError: A step is damaged or missing, or they would take more than half of this
                machine's memory.
        """
        return within_memory(self.iter_steps(episode_id), self.folder, episode_id)

    def iter_steps(self, episode_id: int) -> Iterator[Step]:
        """Yield the steps of an episode one by one, so that few prompts are in memory.

        Raises:
            RecordError: A step is damaged or missing.
        """
        with self._reading(f"episode {episode_id}"):
            rows, length = self._lineage.rows(episode_id), 0
            for found in self._database.rows(_LENGTH, (episode_id,)):
                length = max(found["shared"], expect(found["length"], "length", int | None) or 0)
            for index in range(max(len(rows), length)):
                if index >= len(rows) or rows[index]["step"] != index:
                    raise RecordError(f"step {index} is missing")
        recent = RecentTokens()
        for row in rows:
            step = self._step(row, recent)
            recent = recent.after(step.index, step.decision.generations or ())
            yield step

    def forks(self, episode_id: int) -> tuple[int, ...]:
        """Return the numbers of steps after which an episode went on in a fork, ascending.

        Background processes ended there, and a re-execution forks there, too.

        Raises:
            RecordError: The record of a parent is damaged.
        """
        with self._reading(f"episode {episode_id}"):
            return self._lineage.forks(episode_id)

    def may_have_fork(self, episode_id: int) -> bool:
        """Return whether a fork of an episode could be read; see `Lineage.may_have_fork`."""
        with self._reading(f"episode {episode_id}"):
            return self._lineage.may_have_fork(episode_id)

    def ancestry(self, episode_id: int) -> list[int]:
        """Return the ids of an episode and of those whose steps it shares, its own first.

        Raises:
            RecordError: The record of a parent is damaged.
        """
        with self._reading(f"episode {episode_id}"):
            return self._lineage.ancestry(episode_id)

    def events(self) -> list[tuple[int, StepEvent]]:
        """Return the events around the agents, each with the id of its episode.

        Raises:
            RecordError: A step is damaged.
        """
        found = list[tuple[int, StepEvent]]()
        # Most steps have no events, and need not be read.
        with self._packing.within_memory():
            for row in rows_by_parts(self._database, _WITH_EVENTS):
                with self._reading(f"step {row['step']} of episode {row['episode']}"):
                    happened = self._steps.events(row["events"])
                found += [(row["episode"], event) for event in happened]
        return found

    def unjudged(self) -> list[int]:
        """Return the done episodes without a verdict, which the record has lost."""
        query = "SELECT id FROM episodes WHERE state = 'done' AND verdict IS NULL"
        return [row["id"] for row in self._database.rows(query)]

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Name the episode or step of a damaged value in the error."""
        try:
            yield
        except (RecordError, ValueError, RecursionError) as error:
            raise RecordError(f"{self.folder}: {what} is damaged: {error}") from error

    def _step(self, row: sqlite3.Row, recent: RecentTokens) -> Step:
        with self._reading(f"step {row['step']} of episode {row['episode']}"):
            return self._steps.step(row, recent)

    def _episode(self, row: sqlite3.Row) -> EpisodeRow:
        with self._reading(f"episode {row['id']}"):
            return self._episodes.read(row)

    def refused(self, episode_id: int) -> tuple[Generation, ...] | None:
        """Return the completions that ended an episode and led to no step.

        Returns:
            The completions; None if they are not known, empty if no reply was refused.

        Raises:
            RecordError: The completions are damaged.
        """
        with self._reading(f"episode {episode_id}"):
            return self._refused.generations(episode_id)

    # --- writing ---------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context whose writes are committed together, or not at all."""
        return self._database.transaction()

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
        """Mark an episode as running and return the recorder for the rest of it.

        Existing steps stay, because the episode is being resumed. `first` is None if the reset
        failed.

        Raises:
            RecordError: The episode is done.
        """
        # Most episodes are new, and the record of a new one need not be read.
        row = None if self._states.is_new(episode_id) else self.episode(episode_id)
        if row is not None and row.state == "done":
            raise RecordError(
                f"{self.folder}: episode {episode_id} is done; reset it to run it again"
            )
        self._states.begin(
            episode_id,
            params=params,
            instruction=instruction,
            sandbox=sandbox,
            reset_s=reset_s,
            first=first,
        )
        self._recorded[episode_id] = 0 if row is None else row.steps
        return Recorder(self._database, self._packing, episode_id, self._recorded, row)

    def write_steps(self, batch: Sequence[PackedSteps]) -> None:
        """Write steps of any number of episodes: all of them, or none; see `Recorder.pack`.

        Raises:
            RecordError: The disk is full.
        """
        write_steps(self._database, batch)

    def merge(
        self, source: RunStore, planned: Mapping[int, int], no_room: NoRoom = lambda size: ""
    ) -> dict[int, int]:
        """Add all episodes of another run, each wholly or none; see `agentgym.record.merging`.

        Args:
            source: The other run.
            planned: Planned episodes of this run, by the episodes of the other run that take their
                place.
            no_room: Returns why no final states of so many bytes are kept any more, else nothing.

        Returns:
            The numbers of the episodes here, by those in the other run.

        Raises:
            RecordError: An episode is not planned any more or not over, or the run is damaged.
        """
        merge = Merge(
            *(self._database, self._packing.blobs),
            *(source._database, source._packing.blobs),
        )
        with self.transaction():
            numbers = merge.all(planned, no_room)
            for old, new in numbers.items():
                self.history.merge(new, source.history, old)
        self.endings.read_sizes_again()
        return numbers

    def reopen_episode(self, episode_id: int) -> None:
        """Take back the end of an episode, which can then be resumed; its steps stay."""
        self._states.reopen(episode_id)

    def reset_episode(self, episode_id: int) -> None:
        """Put an episode back to planned and remove its steps; its history and its forks stay."""
        self._states.reset(episode_id)
