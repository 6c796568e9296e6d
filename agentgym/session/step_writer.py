"""Records the steps of all live episodes of a server together, moments after they were taken.

A thread and a transaction for each step cost more than a step. The steps of the same moments share
both, whatever their episode and their session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from agentgym.env.recording import EpisodeRecording
from agentgym.record.store import RunStore

RECORD_AFTER_S: Final = 0.1
"""Seconds within which a server records steps. A thread for each step would cost more than the
step, and an episode of a server that dies has no score, whatever its last steps were."""

Failed: TypeAlias = Callable[[Exception], None]


class StepWriter:
    """Records steps of the episodes of one run.

    If the process dies before they are on file, their episode has no score, whatever its last
    steps were.

    Args:
        store: The run, open for writing.
        after_s: Seconds within which steps are recorded.
    """

    def __init__(self, store: RunStore, after_s: float) -> None:
        self._store, self._after_s = store, after_s
        self._waiting: dict[EpisodeRecording, Failed] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def soon(self, recording: EpisodeRecording, failed: Failed) -> None:
        """Record the steps of an episode soon.

        Args:
            recording: The recording of the episode.
            failed: Called with the error if they cannot be recorded.
        """
        if recording not in self._waiting:
            self._waiting[recording] = failed
            if self._timer is None and self._writing is None:
                self._set_timer()

    async def forget(self, recording: EpisodeRecording) -> None:
        """Record no more steps of an episode, whose end has recorded what was left.

        What is being written is awaited, because the run may be closed next.
        """
        self._waiting.pop(recording, None)
        if not self._waiting and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is not None:
            await asyncio.wait({self._writing})

    def _set_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._after_s, self._begin)

    def _begin(self) -> None:
        self._timer, self._writing = None, asyncio.create_task(self._write())

    async def _write(self) -> None:
        waiting, self._waiting = self._waiting, {}
        try:
            for recording, error in await EpisodeRecording.take_steps_of(self._store, waiting):
                waiting[recording](error)
        except Exception as error:  # noqa: BLE001 - the next operation of each ends it with this
            for failed in waiting.values():
                failed(error)
        finally:
            self._writing = None
            if self._waiting:
                self._set_timer()
