"""Stops all processes of the guest while the host reads its files, and continues them."""

from __future__ import annotations

import select
import time

from agentgym.sandbox.inside.messages import OpError
from agentgym.sandbox.inside.processes import Process, process_table, send_signal, thread_states

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from agentgym.sandbox.inside.loop import Loop
else:
    import _signal as signal

FREEZE_PATIENCE_S = 0.2
FREEZE_DEADLINE_S = 5.0


class Freezer:
    """Stops every other process, and with them the clock of every deadline."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.depth = 0
        # (start, pid): at the time of the thaw, a pid alone may belong to another process.
        self.stopped: set[tuple[int, int]] = set()

    def freeze(self) -> None:
        """Stop every process; each call that returns needs a `thaw`."""
        if self.depth == 0:
            self._stop_all()
            self.loop.pause()
        self.depth += 1

    def thaw(self) -> None:
        """Continue the processes that `freeze` stopped, and no others."""
        if self.depth == 1:
            self._continue_all()
            self.loop.resume()
        self.depth = max(0, self.depth - 1)

    def _stop_all(self) -> None:
        started = time.monotonic()
        calm = 0
        # Twice, because the second look finds processes that were forked during the first.
        while calm < 2:
            waited = time.monotonic() - started
            table = process_table()
            running = self._running(table, patient=waited < FREEZE_PATIENCE_S)
            calm = 0 if running else calm + 1
            if waited > FREEZE_DEADLINE_S:
                self._continue_all()
                raise OpError("op", f"processes {sorted(running)[:5]} would not stop")
            for pid in running:
                # Parents first, so that no parent sees its child stop and reacts to it.
                if waited < FREEZE_PATIENCE_S and table[pid].parent in running:
                    continue
                self.stopped.add((table[pid].start_ticks, pid))
                send_signal(pid, signal.SIGSTOP)
            if running:
                select.select([], [], [], 0.0005)

    @staticmethod
    def _running(table: dict[int, Process], patient: bool) -> set[int]:
        """Return the processes that still run."""
        # A process that waits in vfork for a stopped child can neither stop nor act. It looks like
        # a process in the middle of a write, which does not take long.
        parents = {p.parent for p in table.values() if p.state in b"Tt" and not patient}
        return {
            pid
            for pid, process in table.items()
            for state in thread_states(pid, process)
            if state not in (b"TtZXD" if pid in parents else b"TtZX")
        }

    def _continue_all(self) -> None:
        table = process_table()
        for start, pid in sorted(self.stopped, reverse=True):
            if pid in table and table[pid].start_ticks == start:
                send_signal(pid, signal.SIGCONT)
        self.stopped.clear()
