"""The folder of a training run: its configuration, figures of each iteration, and checkpoint."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import torch

from agentgym import __version__
from agentgym.errors import RecordError
from agentgym.manifest import read_json
from agentgym.record.database import LOCK, writer_lock
from agentgym.record.folder import RunFolder
from agentgym.record.store import RunStore
from agentgym.records import Json
from agentgym.regular_file import TEXT_BYTES, open_regular
from agentgym.train.config import TrainConfig
from agentgym.train.event_file import EventFile
from agentgym.train.foreign_files import refuse_no_checkpoint
from agentgym.train.rollouts import POLICY

Metrics = dict[str, float | int | None]

_MOST_FIGURES: Final = 1_000_000
_LONGEST_NAME: Final = 300

_CONFIG: Final = "config.json"
_METRICS: Final = "metrics.jsonl"
_CHECKPOINT: Final = "checkpoint.pt"
_BOARD: Final = "tensorboard"
_ROLLOUTS: Final = "rollouts"
SAVED_POLICY: Final = "policy"
"""Folder in which a model of transformers is saved as other programs read it."""


class TrainingRun:
    """See the module; made by `create` or `resume`.

    Attributes:
        folder: Holds ``config.json``, ``metrics.jsonl`` (a line an iteration), ``checkpoint.pt``
            and, in ``tensorboard/``, the figures as TensorBoard reads them; if asked for, the
            episodes in ``rollouts/``, a run that other commands read.
        config: The configuration of the run.
        history: The figures of each iteration, from 0: what the untrained policy reaches.
    """

    def __init__(self, folder: Path, config: TrainConfig) -> None:
        self.folder, self.config = folder, config
        self._files = RunFolder(folder)
        self.history: list[Metrics] = []
        self._board: EventFile | None = None
        self._lock, self._is_held = contextlib.ExitStack(), False
        self._is_new = self._made_folder = self._made_record = False
        self._made: list[str] = []

    @classmethod
    def create(cls, folder: Path, config: TrainConfig) -> TrainingRun:
        """Make the folder of a new run, which no other process can write until `close`.

        Raises:
            RecordError: It holds a run, another process begins one in it, or it cannot be made.
        """
        run = cls(folder, config)
        try:
            run._is_new, run._made_folder = True, not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            run._refuse_another()
            run._hold()
            # Another process may have begun one before this one had the lock.
            run._refuse_another()
            run._replace(_CONFIG, config.model_dump_json(indent=2) + "\n")
        except OSError as error:
            run.abandon()
            raise RecordError(f"{folder}: cannot hold a training run: {error}") from error
        except RecordError:
            run.close()
            raise
        return run

    @classmethod
    def resume(cls, folder: Path) -> TrainingRun:
        """Open the folder of a run that was begun.

        Raises:
            RecordError: It holds none, or one that is damaged.
        """
        try:
            return cls(folder, read_json(RunFolder(folder).read(_CONFIG, TEXT_BYTES), TrainConfig))
        except FileNotFoundError:
            raise RecordError(f"{folder} holds no training run") from None
        except (OSError, ValueError) as error:
            raise RecordError(f"{folder / _CONFIG}: damaged: {error}") from error

    def note(self, metrics: Metrics) -> None:
        """Add the figures of an iteration.

        Raises:
            RecordError: They cannot be written.
        """
        self.history.append(metrics)
        try:
            with open(self._files.open_to_write(_METRICS), "ab") as file:
                file.write(_line(metrics).encode())
            self._show(metrics)
        except OSError as error:
            raise RecordError(f"{self.folder}: figures cannot be written: {error}") from error

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint; a kill leaves the old or the new one.

        Raises:
            RecordError: It cannot be written.
        """
        part = f"{_CHECKPOINT}.part"
        try:
            self._files.remove(part)  # A killed run leaves one, and a stranger's may be a link.
            with open(self.folder / part, "xb") as file:
                torch.save({**state, "history": self.history}, file)
            os.replace(self.folder / part, self.folder / _CHECKPOINT)
        except (OSError, RuntimeError) as error:
            with contextlib.suppress(OSError):
                self._files.remove(part)  # It would take what is left of a full disk.
            raise RecordError(f"{self.folder}: no checkpoint can be written: {error}") from error

    def load(self) -> dict[str, Any] | None:
        """Return the checkpoint and cut the figures back to it; None if the run has no checkpoint.

        From then on no other process can go on with the run, until `close`.

        Raises:
            RecordError: It cannot be read, or another process goes on with the run.
        """
        self._hold()
        state: dict[str, Any] | None = None
        if (self.folder / _CHECKPOINT).exists():
            state = self.read_checkpoint(self.folder)
            self.history = state["history"]
        lines = "".join(map(_line, self.history))
        try:
            self._replace(_METRICS, lines)
        except OSError as error:
            raise RecordError(f"{self.folder}: figures cannot be written: {error}") from error
        return state

    @staticmethod
    def read_checkpoint(folder: Path) -> dict[str, Any]:
        """Return the checkpoint of a run.

        Raises:
            RecordError: It cannot be read.
        """
        path = folder / _CHECKPOINT
        try:
            with open_regular(path) as file:
                refuse_no_checkpoint(file)
                state: dict[str, Any] = torch.load(file, weights_only=True, map_location="cpu")
            state["history"] = _figures(state["history"])
        except Exception as error:
            raise RecordError(f"{path}: no checkpoint of a training run: {error}") from error
        return state

    def open_record(self, tasks: Sequence[str]) -> RunStore:
        """Open the record of the episodes, below ``rollouts``.

        Args:
            tasks: Ids of the tasks.

        Raises:
            RecordError: It is damaged, or another process writes it.
        """
        folder = self.folder / _ROLLOUTS
        if (folder / "run.db").exists():
            return RunStore.open(folder, readonly=False)
        settings: dict[str, Json] = {
            "tasks": list(tasks),
            "agents": [POLICY],
            "sandbox": self.config.sandbox,
            "agentgym": __version__,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "keep_states": "none",
            "recorded_by": "train",
        }
        self._made_record = not folder.exists()
        return RunStore.create(folder, settings, [])

    def abandon(self) -> None:
        """Remove a new run that could not begin; what was in its folder before stays."""
        self.close()
        if not self._is_new or self.history:
            return
        # If another process has the lock, it goes on with the run.
        with contextlib.suppress(OSError, RecordError), writer_lock(self.folder):
            for name in (*self._made, LOCK):
                self._files.remove(name)
            if self._made_record:
                shutil.rmtree(self.folder / _ROLLOUTS)
            if self._made_folder:
                self.folder.rmdir()

    def close(self) -> None:
        """Finish the files, and let other processes go on with the run."""
        if self._board is not None:
            self._board.close()
        self._lock.close()
        self._is_held = False

    def _hold(self) -> None:
        """Take the lock for writing the run, unless this object has it.

        Raises:
            RecordError: Another process has it.
        """
        if not self._is_held:
            self._lock.enter_context(writer_lock(self.folder))
            self._is_held = True

    def _refuse_another(self) -> None:
        if self._files.find(_CONFIG) is not None:
            raise RecordError(
                f"{self.folder} holds a training run; go on with --resume, or name another --out"
            )

    def _replace(self, name: str, text: str) -> None:
        self._made.append(name)
        with self._files.replacing(name) as file:
            file.write(text.encode())

    def _show(self, metrics: Metrics) -> None:
        step = int(metrics["iteration"] or 0)
        if self._board is None:
            self._board = EventFile(self._files, _BOARD, step)
        for name, value in metrics.items():
            if name != "iteration" and value is not None:
                self._board.add(name, value, step)


def _line(metrics: Metrics) -> str:
    """Return a line of ``metrics.jsonl``; NaN, which JSON does not have, is null."""
    told = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in metrics.items()
    }
    return json.dumps(told, allow_nan=False) + "\n"


def _figures(history: Any) -> list[Metrics]:
    """Return the figures in a checkpoint.

    Raises:
        ValueError: They are no numbers with names, or too many.
    """
    if type(history) is not list or not all(type(metrics) is dict for metrics in history):
        raise ValueError("history: expected a list of objects")
    if sum(map(len, history)) > _MOST_FIGURES:
        raise ValueError(f"history: more than {_MOST_FIGURES:,} figures")
    for metrics in history:
        if type(metrics.get("iteration")) is not int or not all(
            type(name) is str and len(name) <= _LONGEST_NAME and _is_figure(value)
            for name, value in metrics.items()
        ):
            raise ValueError("history: expected numbers with names, and an iteration")
    return list(history)


def _is_figure(value: object) -> bool:
    return value is None or type(value) is float or (type(value) is int and abs(value) < 2**63)
