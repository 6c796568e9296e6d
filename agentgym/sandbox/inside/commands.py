"""Single commands: a process group with its input, its captured output and a deadline."""

from __future__ import annotations

import errno
import os
import time

from agentgym.sandbox.inside.output import CHUNK, Capture, drain, read_some
from agentgym.sandbox.inside.spawning import spawn_piped

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from agentgym.sandbox.inside.loop import Loop
    from agentgym.sandbox.inside.messages import Reply, Request
else:
    import _signal as signal

GRACE_S = 0.5


class Command:
    """One `exec`: a process group with captured output, ended at its deadline."""

    def __init__(self, loop: Loop, request: Request, stdin: bytes, reply: Reply) -> None:
        self.loop, self.reply = loop, reply
        self.started = time.monotonic()
        self.timed_out = False
        self.out, self.err = Capture(request["limit"]), Capture(request["limit"])
        self.in_w: int | None
        self.out_r: int | None
        self.err_r: int | None
        self.pid, self.in_w, self.out_r, self.err_r = spawn_piped(
            request["argv"], request["cwd"], request["env"], request.get("user", "root"), (1,), (2,)
        )
        loop.children[self.pid] = self._exited
        loop.watch(self.out_r, self._read_out)
        loop.watch(self.err_r, self._read_err)
        self.stdin = memoryview(stdin)
        self._feed(self.in_w)
        self.timer = loop.later(request["deadline_s"], self._expire)

    def _feed(self, fd: int) -> None:
        try:
            while self.stdin:
                self.stdin = self.stdin[os.write(fd, self.stdin[:CHUNK]) :]
        except BlockingIOError:
            self.loop.watch_write(fd, self._feed)
            return
        except OSError:
            pass
        self.loop.forget(fd)
        self.in_w = None

    def _read_out(self, fd: int) -> None:
        if not self._read(fd, self.out):
            self.out_r = None

    def _read_err(self, fd: int) -> None:
        if not self._read(fd, self.err):
            self.err_r = None

    def _read(self, fd: int, capture: Capture) -> bool:
        """Read the available output; return False at its end."""
        data = read_some(fd)
        if data == b"":
            self.loop.forget(fd)
            return False
        capture.add(data or b"")
        return True

    def _expire(self) -> None:
        self.timed_out = True
        self._signal_group(signal.SIGTERM)
        self.timer = self.loop.later(GRACE_S, lambda: self._signal_group(signal.SIGKILL))

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except OSError:
            pass

    def _exited(self, code: int) -> None:
        self.loop.cancel(self.timer)
        if self.timed_out:
            self._signal_group(signal.SIGKILL)
        for fd, capture in ((self.out_r, self.out), (self.err_r, self.err)):
            if fd is not None:
                drain(fd, capture)
                self.loop.sink(fd)
        self.loop.forget(self.in_w)
        out, omitted_out = self.out.take()
        err, omitted_err = self.err.take()
        header = {
            "exit_code": code,
            "timed_out": self.timed_out,
            "omitted": omitted_out + omitted_err,
            "stdout_bytes": len(out),
            "duration_s": time.monotonic() - self.started,
        }
        self.reply(header, out + err)


def execute(loop: Loop, request: Request, stdin: bytes, reply: Reply) -> None:
    """Run a command; if it cannot start, reply with the exit code that a shell would report."""
    try:
        Command(loop, request, stdin, reply)
    except OSError as error:
        text = "{}: {}\n".format(request["argv"][0], error.strerror).encode("utf-8", "replace")
        code = 127 if error.errno == errno.ENOENT else 126
        header = {"exit_code": code, "timed_out": False, "omitted": 0, "stdout_bytes": 0}
        reply(dict(header, duration_s=0.0), text)
