"""Runs that `agentgym.make` records into, each opened once per process and shared in it.

A run has one writer. Environments of one process share it; another process is refused by the
run's lock. All of this happens in the event loop's thread, to which the database belongs.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentgym import __version__
from agentgym.env.kept_states import KEPT_BY_DEFAULT, KeptStates
from agentgym.env.recording import end_abandoned
from agentgym.errors import ConfigError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Json

if TYPE_CHECKING:
    from agentgym.env.portal import Portal

RECORDED_BY: Final = "make"
"""The run setting ``recorded_by`` of these runs; runs of `agentgym eval` and `serve` have none."""


@dataclass(frozen=True, slots=True)
class Player:
    """One environment that is recorded in a run, as the settings of the run describe it.

    Attributes:
        task: Id of the task, or the path of its folder.
        agent: Name under which its episodes are recorded.
        sandbox: Name of the sandbox provider.
        isolated: The provider declares that its sandboxes are isolated.
        max_steps: Steps of an episode, None for the task's own number.
        user: Who plays the user of the task; empty if it has none.
        judge: Who judges what its checks ask a judge; empty if they ask none.
        image_fallbacks: The recipe that replaces each image of its task that is unavailable.
        kept: Which final states the run shall keep.
    """

    task: str
    agent: str
    sandbox: str
    isolated: bool = True
    max_steps: int | None = None
    user: str = ""
    judge: str = ""
    image_fallbacks: Mapping[str, str] = field(default_factory=dict)
    kept: KeptStates = KeptStates()


class RecordedRun:
    """A run that is open for recording, with the environments that use it.

    Args:
        store: The run, open for writing.
        on_unused: Called when nothing uses it any more and it is closed.

    Attributes:
        store: The run.
    """

    def __init__(self, store: RunStore, on_unused: Callable[[], None]) -> None:
        self.store = store
        self._on_unused = on_unused
        self._in_use: dict[object, Callable[[], Awaitable[None]]] = {}
        end_abandoned(store, lambda row: True)
        rows = store.episodes()
        self._trials = Counter(
            (row.plan.task, row.plan.agent) for row in rows if row.parent is None
        )

    def join(self, who: object, player: Player, leave: Callable[[], Awaitable[None]]) -> None:
        """Let an environment record here; the run stays open until it has left.

        Args:
            who: Stands for the environment.
            player: What the settings shall say of it.
            leave: Called if the process ends before the environment is closed.

        Raises:
            ConfigError: A setting that replay needs is another one in this run.
            RecordError: It cannot be written.
        """
        tasks, agents = self._names("tasks"), self._names("agents")
        changes: dict[str, Json] = {}
        if not tasks:
            changes |= {"max_steps": player.max_steps, "sandbox": player.sandbox}
        elif self._kept("max_steps") != player.max_steps:
            raise self._other("max_steps", player.max_steps)
        for name, now in (("user", player.user), ("judge", player.judge)):
            if now and self._kept(name) not in (None, "", now):
                raise self._other(name, now)
            if now:
                changes[name] = now
        for name, default in asdict(KEPT_BY_DEFAULT).items():
            if (now := getattr(player.kept, name)) is not None:
                if tasks and self._kept(name, default) != now:
                    raise self._other(name, now, default)
                changes[name] = now
        if player.image_fallbacks:
            others = self._kept("image_fallbacks")
            known = others if isinstance(others, Mapping) else {}
            changes["image_fallbacks"] = {**known, player.task: dict(player.image_fallbacks)}
        if not player.isolated:
            changes["isolated"] = False
        changes["tasks"] = list(dict.fromkeys([*tasks, player.task]))
        changes["agents"] = list(dict.fromkeys([*agents, player.agent]))
        for name, value in changes.items():
            if self._kept(name) != value:
                self.store.amend(name, value)
        self._in_use[who] = leave

    def leave(self, who: object) -> None:
        """Let go of the run; the last one closes it."""
        if self._in_use.pop(who, None) is not None and not self._in_use:
            self.shut()

    async def leave_all(self) -> None:
        """Have every environment leave: the process ends."""
        for leave in list(self._in_use.values()):
            await leave()

    def shut(self) -> None:
        """Close the run, which lets other processes write it."""
        self._on_unused()
        self.store.close()

    @property
    def is_used(self) -> bool:
        """Whether an environment records here."""
        return bool(self._in_use)

    def add(
        self,
        player: Player,
        seed: int,
        group: str | None,
        metadata: dict[str, Json] | None,
    ) -> int:
        """Add an episode to the run and return its id.

        Raises:
            RecordError: It cannot be written.
        """
        key = player.task, player.agent
        plan = EpisodePlan(player.task, seed, self._trials[key], player.agent, group, metadata)
        added = self.store.add(plan)
        self._trials[key] += 1
        return added

    def _kept(self, name: str, default: Json = None) -> Json:
        return self.store.settings.get(name, default)

    def _names(self, name: str) -> list[str]:
        kept = self._kept(name)
        return [str(one) for one in kept] if isinstance(kept, list) else []

    def _other(self, name: str, now: Json, default: Json = None) -> ConfigError:
        before = self._kept(name, default)
        return ConfigError(
            f"record: {self.store.folder} was recorded with {name}={before!r} and this environment "
            f"has {name}={now!r}; name another folder"
        )


class RecordedRuns:
    """The runs that this process records into, by folder."""

    def __init__(self) -> None:
        self._open: dict[Path, RecordedRun] = {}

    def open(self, folder: Path) -> RecordedRun:
        """Return the run of a folder; a new folder gets a new run.

        Raises:
            ConfigError: The folder holds a run of another kind.
            RecordError: It is damaged, cannot be written, or another process writes it.
        """
        key = folder.resolve()
        if key not in self._open:
            store = _open_store(folder)
            try:
                self._open[key] = RecordedRun(store, lambda: self._forget(key))
            except BaseException:
                store.close()
                raise
        return self._open[key]

    def _forget(self, key: Path) -> None:
        self._open.pop(key, None)

    async def close(self) -> None:
        """End every recording: the process ends."""
        for run in list(self._open.values()):
            await run.leave_all()


@functools.cache
def recorded_runs(home: Portal) -> RecordedRuns:
    """Return the runs of a process; they are closed when it ends."""
    runs = RecordedRuns()
    home.at_close(runs.close)
    return runs


def _open_store(folder: Path) -> RunStore:
    if not (folder / "run.db").exists():
        settings: dict[str, Json] = {
            "tasks": [],
            "agents": [],
            "agentgym": __version__,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "recorded_by": RECORDED_BY,
        }
        return RunStore.create(folder, settings, [])
    # Looked at without the lock first, so that a run of another kind stays as it is.
    store = RunStore.open(folder)
    recorded_by = store.settings.get("recorded_by")
    store.close()
    if recorded_by != RECORDED_BY:
        raise ConfigError(
            f"record: {folder} holds a run of another kind (of `agentgym eval` or `serve`), which "
            "agentgym.make cannot add episodes to; name another folder"
        )
    return RunStore.open(folder, readonly=False)
