"""The event loop: readiness of descriptors, timers and ended children, over one epoll."""

from __future__ import annotations

import os
import select
import time

from agentgym.sandbox.inside.output import read_some

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal

# epoll accepts waits of at most 24 days.
MAX_WAIT_S = 3600.0


class Timer:
    """A callback and its due time."""

    def __init__(self, due: float, callback: Callable[[], object]) -> None:
        self.due, self.callback = due, callback


class Loop:
    """Readiness callbacks, timers and child exits over one epoll."""

    def __init__(self) -> None:
        self.poll = select.epoll()
        self.readers: dict[int, Callable[[int], None]] = {}
        self.writers: dict[int, Callable[[int], None]] = {}
        self.timers: set[Timer] = set()
        self.children: dict[int, Callable[[int], None]] = {}
        self.paused_at: float | None = None
        wake_r, wake_w = os.pipe()
        for fd in (wake_r, wake_w):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.watch(wake_r, self._reap)

    def watch(self, fd: int, callback: Callable[[int], None]) -> None:
        os.set_blocking(fd, False)
        self.readers[fd] = callback
        self._update(fd)

    def watch_write(self, fd: int, callback: Callable[[int], None] | None) -> None:
        if callback is not None:
            self.writers[fd] = callback
        elif self.writers.pop(fd, None) is None:
            return
        self._update(fd)

    def _update(self, fd: int) -> None:
        mask = (select.EPOLLIN if fd in self.readers else 0) | (
            select.EPOLLOUT if fd in self.writers else 0
        )
        if not mask:
            self._unregister(fd)
            return
        try:
            self.poll.modify(fd, mask)
        except FileNotFoundError:
            self.poll.register(fd, mask)

    def _unregister(self, fd: int) -> None:
        try:
            self.poll.unregister(fd)
        except OSError:
            pass

    def sink(self, fd: int) -> None:
        """Discard further output, so that a background process does not die of a closed pipe."""

        def discard(fd: int) -> None:
            if read_some(fd) == b"":
                self.forget(fd)

        self.watch(fd, discard)

    def forget(self, fd: int | None) -> None:
        """Stop watching a descriptor and close it."""
        if fd is None:
            return
        self.readers.pop(fd, None)
        self.writers.pop(fd, None)
        self._unregister(fd)
        os.close(fd)

    def later(self, delay_s: float, callback: Callable[[], object]) -> Timer:
        timer = Timer(time.monotonic() + delay_s, callback)
        self.timers.add(timer)
        return timer

    def cancel(self, timer: Timer | None) -> None:
        if timer is not None:
            self.timers.discard(timer)

    def pause(self) -> None:
        """Stop the clock of every timer."""
        self.paused_at = time.monotonic()

    def resume(self) -> None:
        if self.paused_at is not None:
            for timer in self.timers:
                timer.due += time.monotonic() - self.paused_at
            self.paused_at = None

    def _reap(self, fd: int) -> None:
        read_some(fd)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            callback = self.children.pop(pid, None)
            if callback:
                callback(exit_code(status))

    def run(self) -> None:
        # epoll reports an error on a full pipe without EPOLLOUT.
        writable = select.EPOLLOUT | select.EPOLLERR | select.EPOLLHUP
        while True:
            wait = -1.0
            if self.timers and self.paused_at is None:
                left = min(timer.due for timer in self.timers) - time.monotonic()
                wait = min(max(0.0, left), MAX_WAIT_S)
            for fd, event in self.poll.poll(wait):
                if event & writable and fd in self.writers:
                    self.writers[fd](fd)
                if event & ~select.EPOLLOUT and fd in self.readers:
                    self.readers[fd](fd)
            if self.paused_at is None:
                self._fire(time.monotonic())

    def _fire(self, now: float) -> None:
        for timer in [timer for timer in self.timers if timer.due <= now]:
            # An earlier callback may have cancelled it.
            if timer in self.timers:
                self.timers.remove(timer)
                timer.callback()


def exit_code(status: int) -> int:
    """Return the exit code of a wait status as a shell reports it."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)
