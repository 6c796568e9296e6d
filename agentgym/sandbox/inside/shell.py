"""Shell sessions: a bash that lives on from command to command."""

from __future__ import annotations

import os
import time

from agentgym.sandbox.inside.files import make_folders
from agentgym.sandbox.inside.messages import OpError
from agentgym.sandbox.inside.output import Capture, drain, read_some
from agentgym.sandbox.inside.processes import (
    ignores_interrupt,
    process_table,
    send_signal,
    ticks_now,
)
from agentgym.sandbox.inside.spawning import spawn_piped

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from agentgym.sandbox.inside.loop import Loop, Timer
    from agentgym.sandbox.inside.messages import Reply, Request
else:
    import _signal as signal

GRACE_S = 0.5
MAX_STATUS = 65536
# The kernel passes on no longer text of one variable.
MAX_VARIABLE = 1 << 17
# Bytes of all saved variables, with some for each; far less than a new program may get.
MAX_SAVED = 1 << 20
VARIABLE_BYTES = 16
SHELL_STATUS_FD = 200
# The variables go where the status goes, because the session's output may be redirected, or mixed
# with a trace, with that of traps and of background jobs. Names with a slash are seldom functions.
SAVE = r"{ \builtin printf '\0' >&200; /usr/bin/env -0 >&200 || /bin/env -0 >&200 || "
SAVE += r"\builtin command env -0 >&200 || \builtin :; } </dev/null >/dev/null 2>&1; "


class Shell:
    """A persistent bash, fed one sourced file per command.

    It is an interactive bash without a terminal. On SIGINT such a shell drops the running command
    and reads the next line, so a session outlives a hung command. Its programs cannot wait for a
    terminal. Each status line carries the number of its command, so a late line is recognised.
    """

    def __init__(self, loop: Loop, number: int, request: Request) -> None:
        self.loop, self.user = loop, request.get("user", "root")
        self.cwd, self.env = request["cwd"], request["env"]
        self.capture = Capture(request["limit"])
        self.file = f"/run/agentgym/shell-{number}"
        self.sequence = self.stage = self.start_ticks = self.pid = self.room = 0
        self.started = 0.0
        self.timed_out = self.restarted = self.lost = self.ready = False
        self.line = ""
        self.saved: list[bytes] | None = None
        self.reply: Reply | None = None
        self.timer: Timer | None = None
        self.in_w: int | None = None
        self.out_r: int | None = None
        self.status_r: int | None = None
        self.status = self.unsent = b""
        self._launch()

    def _launch(self) -> None:
        argv = ["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"]
        env = dict(self.env, PS1="", PS2="")
        self.pid, self.in_w, self.out_r, self.status_r = spawn_piped(
            argv, self.cwd, env, self.user, (1, 2), (SHELL_STATUS_FD,)
        )
        self.status = self.unsent = b""
        self.loop.children[self.pid] = self._exited
        self.loop.watch(self.out_r, self._read_output)
        self.loop.watch(self.status_r, self._read_status)
        self.ready = False
        self._send("set +H +o history; unset PS1 PS2 HISTFILE; ")

    def _launch_again(self) -> None:
        # Its working directory may no longer exist; the session continues even then.
        self.cwd = self.cwd if os.path.isdir(self.cwd) else "/"
        self._launch()

    def _send(self, line: str) -> None:
        # `builtin`, quotes and the default, because the guest may change names, IFS and PWD. The
        # first \0 ends any other text that the guest has written here.
        status = f'{self.sequence} "$?" "${{PWD-}}" >&{SHELL_STATUS_FD}'
        self.unsent += (line + f"\\builtin printf '\\0%s %s %s\\0' {status}\n").encode()
        if self.in_w is not None:
            self._feed(self.in_w)

    def _feed(self, fd: int) -> None:
        try:
            while self.unsent:
                self.unsent = self.unsent[os.write(fd, self.unsent) :]
        except BlockingIOError:
            # The guest can also write to this pipe and fill it.
            self.loop.watch_write(fd, self._feed)
            return
        except OSError:
            # Bash has ended; `_exited` will say so.
            pass
        self.loop.watch_write(fd, None)

    def run(self, command: bytes, timeout_s: float, reply: Reply) -> None:
        """Run a command; the reply has its output and all that was printed before it."""
        self._wake()
        self._pass_on(command)
        line = f"\\builtin . {self.file} </dev/null {SHELL_STATUS_FD}>&-; "
        self._begin(line, timeout_s, reply)

    def save(self, timeout_s: float, reply: Reply) -> None:
        """Reply with the exported variables; output is left to the next command."""
        self._wake()
        self._begin(SAVE, timeout_s, reply)
        self.saved, self.room = [], MAX_SAVED

    def _wake(self) -> None:
        if self.reply:
            raise OpError("op", "the shell session is busy with another command")
        if not self.pid:
            self._launch_again()

    def _begin(self, line: str, timeout_s: float, reply: Reply) -> None:
        self.line = line
        self.started, self.start_ticks = time.monotonic(), ticks_now()
        self.timed_out, self.stage = False, 0
        # The second command reports the end of a session between two commands.
        self.restarted, self.lost = self.lost, False
        self.sequence += 1
        self.reply = reply
        if self.ready:
            self._send(self.line)
        self.timer = self.loop.later(timeout_s, self._expire)

    def _pass_on(self, command: bytes) -> None:
        try:
            make_folders(os.path.dirname(self.file))
            # Always a new file, because the guest may have left a FIFO here.
            if os.path.lexists(self.file):
                os.unlink(self.file)
            with open(self.file, "xb") as file:
                file.write(command)
        except OSError as error:
            raise OpError("limit", f"cannot pass the command on: {error.strerror}") from None

    def _read_output(self, fd: int) -> None:
        data = read_some(fd)
        if data:
            self.capture.add(data)
        elif data == b"":
            self.loop.forget(fd)
            self.out_r = None

    def _read_status(self, fd: int) -> None:
        data = read_some(fd)
        if data:
            *lines, rest = (self.status + data).split(b"\0")
            self.status = rest[-(MAX_STATUS if self.saved is None else MAX_VARIABLE) :]
            for line in lines:
                self._take_status(line)
        elif data == b"":
            self.loop.forget(fd)
            self.status_r = None

    def _take_status(self, line: bytes) -> None:
        sequence, _, rest = line.partition(b" ")
        code, _, cwd = rest.partition(b" ")
        ends = sequence == str(self.sequence).encode()
        if self.saved is not None and self.ready and not ends:
            self._keep(line)
            return
        # Every process of the guest can write here; skip lines that bash would not write.
        if not code.isdigit() or len(code) > 3 or len(line) > MAX_STATUS:
            return
        self.cwd = os.fsdecode(cwd)
        if not self.ready:
            # Messages of bash about the absent terminal are not output of a command.
            self.ready = True
            drain(self.out_r, self.capture)
            self.capture.take()
            if self.reply:
                self._send(self.line)
        elif ends:
            self._finish(int(code))

    def _keep(self, variable: bytes) -> None:
        self.room -= len(variable) + VARIABLE_BYTES
        if self.saved is not None and self.room >= 0 and b"=" in variable[1:]:
            self.saved.append(variable)

    def _finish(self, code: int) -> None:
        """Answer the running command, if any."""
        reply, self.reply = self.reply, None
        if reply is None:
            return
        self.loop.cancel(self.timer)
        saved, self.saved = self.saved, None
        if saved is not None:
            self.lost = self.restarted
            reply({"cwd": self.cwd}, b"\0".join(saved))
            return
        drain(self.out_r, self.capture)
        output, omitted = self.capture.take()
        reply(
            {
                "exit_code": code,
                "cwd": self.cwd,
                "timed_out": self.timed_out,
                "restarted": self.restarted,
                "omitted": omitted,
                "duration_s": time.monotonic() - self.started,
            },
            output,
        )

    def _victims(self, background: bool) -> list[int]:
        """Return the processes that the running command started, oldest first."""
        try:
            table = process_table()
        except OSError:
            return []
        found = []
        for pid, process in sorted(table.items()):
            parent = process.parent
            while parent in table and parent != self.pid:
                parent = table[parent].parent
            ours = pid != self.pid and self.pid in (process.session, parent)
            # Background jobs ignore the interrupt.
            if (
                ours
                and process.start_ticks >= self.start_ticks
                and (background or not ignores_interrupt(pid))
            ):
                found.append(pid)
        return found

    def _expire(self) -> None:
        """Escalate until bash reads again: interrupt, terminate, kill, finally a new bash."""
        self.timed_out = True
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL)
        if self.stage == len(signals):
            send_signal(self.pid, signal.SIGKILL)
            return
        # Bash first, because it must get the interrupt before it sees its command die of it.
        send_signal(self.pid, signal.SIGINT)
        # Background jobs may continue, unless nothing else helps.
        for pid in self._victims(background=self.stage == 3):
            send_signal(pid, signals[self.stage])
            send_signal(pid, signal.SIGCONT)
        self.stage += 1
        sequence = self.sequence
        self.loop.later(0.02, lambda: self._ask_again(sequence))
        self.timer = self.loop.later(GRACE_S, self._expire)

    def _ask_again(self, sequence: int) -> None:
        """Ask for the status again, because the interrupt dropped the rest of the line."""
        if self.reply and sequence == self.sequence:
            self._send("")

    def _exited(self, code: int) -> None:
        self.pid = 0
        drain(self.out_r, self.capture)
        if self.out_r is not None:
            self.loop.sink(self.out_r)
        for fd in (self.in_w, self.status_r):
            self.loop.forget(fd)
        self.in_w = self.out_r = self.status_r = None
        if self.reply:
            self.restarted = True
            self._finish(code)
        else:
            self.lost = True

    def close(self) -> None:
        """End the session and its foreground command."""
        if self.pid:
            victims = self._victims(background=False) if self.reply else []
            for pid in (self.pid, *victims):
                send_signal(pid, signal.SIGKILL)
        try:
            os.unlink(self.file)
        except OSError:
            pass
