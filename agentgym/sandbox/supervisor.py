"""The guest supervisor: PID 1 of a sandbox, one file, standard library only (Python >= 3.8).

It owns everything that must happen inside: commands, persistent shells, file transfer, the
process table. It answers frames on one socket: its standard input, or the address in its first
argument. When that socket closes, it exits, and every process ends with it. A second argument
names the file of a system call filter that only the supervisor itself can install.

Frame: two big-endian 32-bit lengths (header, body), a header, a raw body. A request's header is
marshal (version 2), a reply's is JSON: the guest may trust the host, not the other way round. A
request carries ``id`` and ``op``; its reply carries the same ``id`` and either results or
``error``. Every request gets a reply; long ones (``exec``, ``shell.run``) do not delay the others.
A reply with ``descriptor`` brings one, with the first bytes of the frame (SCM_RIGHTS).

Without a fork server it starts once per sandbox, so it imports little: `json`, `re` and `enum`
(which `signal` imports) would double its start-up time. A fork server (`forking.py`) imports it
once.
"""

from __future__ import annotations

import errno
import fcntl
import marshal
import os
import select
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Any

    Request = dict[str, Any]
    Header = dict[str, Any]
    # Called with a header, a body, and a descriptor to pass on and close.
    Reply = Callable[..., None]
    Result = tuple[Header, bytes]
    Operation = Callable[["Server", Request, bytes], Result]
else:
    import _signal as signal

PROTOCOL = 1
CHUNK = 65536
MAX_FRAME = 256 * 2**20
MAX_ARGV = 16384
MAX_STATUS = 65536
BACKLOG = 128
SHELL_STATUS_FD = 200
EXHAUSTED = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC)
GRACE_S = 0.5
FREEZE_PATIENCE_S = 0.2
FREEZE_DEADLINE_S = 5.0
# epoll accepts waits of at most 24 days.
MAX_WAIT_S = 3600.0


class OpError(Exception):
    """A refused operation; `kind` is file, limit or op."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Capture:
    """Output with a byte limit: it keeps head and tail and counts the omitted middle."""

    def __init__(self, limit: int) -> None:
        self.head_room = limit - limit // 2
        self.tail_room = limit // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.omitted = 0

    def add(self, data: bytes) -> None:
        room = self.head_room - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        if data:
            self.tail += data
            over = len(self.tail) - self.tail_room
            # Trimming in large bites keeps an endless writer from costing a copy per chunk.
            if over > self.tail_room + CHUNK:
                del self.tail[:over]
                self.omitted += over

    def take(self) -> tuple[bytes, int]:
        """Return (bytes, omitted) and reset the capture."""
        over = len(self.tail) - self.tail_room
        if over > 0:
            del self.tail[:over]
            self.omitted += over
        head, tail, omitted = bytes(self.head), bytes(self.tail), self.omitted
        self.head, self.tail, self.omitted = bytearray(), bytearray(), 0
        if omitted:
            note = f"\n[... {omitted} bytes omitted ...]\n".encode()
            return head + note + tail, omitted
        return head + tail, 0


# --- the event loop ---------------------------------------------------------------------------


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


def read_some(fd: int) -> bytes | None:
    """Return the available bytes, b"" at the end, None if no data is available yet."""
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def drain(fd: int | None, capture: Capture, rounds: int = 64) -> None:
    """Move the content of a pipe into a capture; bounded, because a writer may never stop."""
    if fd is not None:
        for _ in range(rounds):
            data = read_some(fd)
            if not data:
                return
            capture.add(data)


# --- processes ----------------------------------------------------------------------------------


def spawn(argv: list[str], cwd: str, env: dict[str, str], user: str, fds: dict[int, int]) -> int:
    """Start a program in its own session; `fds` maps its descriptors to ours.

    posix_spawn costs half as much as fork and exec from Python.
    """
    account = None if user == "root" else Account(user)
    if account is not None:
        env = {"HOME": account.home, "USER": account.name, "LOGNAME": account.name, **env}
    actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in fds.items()]
    # Python ignores these two; a command expects the defaults.
    defaults = [signal.SIGPIPE, signal.SIGXFSZ]
    try:
        os.chdir(cwd)
    except OSError as error:
        raise OpError("file", f"{cwd}: {error.strerror}") from None
    try:
        program = find_program(argv[0], env)
        if account is None:
            pid = os.posix_spawn(
                program, argv, env, file_actions=actions, setsid=True, setsigdef=defaults
            )
        else:
            pid = account.spawn(program, argv, env, fds, defaults)
    except BlockingIOError:
        raise OpError("limit", "cannot start a process: the process limit is reached") from None
    finally:
        os.chdir("/")
    try:
        # If memory runs out, the kernel should kill a command and not the supervisor.
        with open(f"/proc/{pid}/oom_score_adj", "w") as file:
            file.write("500")
    except OSError:
        pass
    return pid


class Account:
    """The account of `user` or `user:group`, by name or number, in the guest's account files.

    As in image builds (`account` in build/copying.py), a number needs no entry.
    """

    def __init__(self, text: str) -> None:
        user, _, group = text.partition(":")
        found = find_entry(read_table("/etc/passwd", 7), user)
        if found is not None:
            self.name, self.home = found[0], found[5] or "/"
            self.uid, self.gid = int(found[2]), int(found[3])
        elif user.isdecimal():
            self.name, self.home = user, "/"
            self.uid, self.gid = int(user), 0
        else:
            raise OpError("op", f"there is no user {user!r} in the sandbox's /etc/passwd")
        groups = read_table("/etc/group", 4)
        if group:
            found = find_entry(groups, group)
            if found is None and not group.isdecimal():
                raise OpError("op", f"there is no group {group!r} in the sandbox's /etc/group")
            self.gid = int(found[2] if found else group)
        self.groups = [int(fields[2]) for fields in groups if self.name in fields[3].split(",")]

    def spawn(
        self,
        program: str,
        argv: list[str],
        env: dict[str, str],
        fds: dict[int, int],
        defaults: list[signal.Signals],
    ) -> int:
        """Start a program as this user, in its own session."""
        pid = os.fork()
        if pid:
            return pid
        try:
            os.setsid()
            for target, source in fds.items():
                os.dup2(source, target)
            for number in defaults:
                signal.signal(number, signal.SIG_DFL)
            os.setgroups([self.gid, *self.groups])
            os.setgid(self.gid)
            # Last, because it gives up every capability.
            os.setuid(self.uid)
            os.execve(program, argv, env)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode("utf-8", "replace"))
        except OverflowError as error:
            # No user or group can have this number.
            os.write(2, f"{argv[0]}: {error}\n".encode("utf-8", "replace"))
        finally:
            os._exit(126)


def read_table(path: str, width: int) -> list[list[str]]:
    """Return the complete lines of a file like /etc/passwd, split; empty if it is absent."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.rstrip("\n").split(":") for line in file]
    except OSError:
        return []
    return [line for line in lines if len(line) == width and line[2].isdecimal()]


def find_entry(lines: list[list[str]], wanted: str) -> list[str] | None:
    """Return the first line with the wanted name or number."""
    return next((line for line in lines if wanted in (line[0], line[2])), None)


def spawn_piped(
    argv: list[str],
    cwd: str,
    env: dict[str, str],
    user: str,
    first: tuple[int, ...],
    second: tuple[int, ...],
) -> tuple[int, int, int, int]:
    """Start a program with pipes; return its pid, the writing end and the two reading ends.

    `first` and `second` are the program's descriptors that lead to the two reading ends.
    """
    ends: list[int] = []
    try:
        for _ in range(3):
            ends += os.pipe()
        in_r, in_w, first_r, first_w, second_r, second_w = ends
        fds = {0: in_r}
        fds.update(dict.fromkeys(first, first_w))
        fds.update(dict.fromkeys(second, second_w))
        pid = spawn(argv, cwd, env, user, fds)
    except BaseException:
        for fd in ends:
            os.close(fd)
        raise
    for fd in (in_r, first_w, second_w):
        os.close(fd)
    os.set_blocking(in_w, False)
    return pid, in_w, first_r, second_r


def find_program(name: str, env: dict[str, str]) -> str:
    """Return the path of a program; a name with a slash is a path already."""
    if "/" in name:
        return name
    for folder in env.get("PATH", os.defpath).split(":"):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(errno.ENOENT, "command not found")


class Process:
    """The content of /proc/pid/stat for one process."""

    def __init__(self, fields: list[bytes]) -> None:
        self.state = fields[0]
        self.parent, self.session = int(fields[1]), int(fields[3])
        # Processor time (user, system) of the process and of its ended children.
        self.cpu_ticks = sum(int(field) for field in fields[11:15])
        self.threads = int(fields[17])
        self.start_ticks = int(fields[19])
        self.resident_pages = int(fields[21])

    def ended(self) -> bool:
        # The first thread may end before the others.
        return self.state in b"ZX" and self.threads < 2


def read_stat(path: str) -> list[bytes]:
    """Return the fields of a stat file from the state on; the name before it is arbitrary."""
    try:
        with open(path, "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def process_table() -> dict[int, Process]:
    """Return every process but this one, zombies included."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            fields = read_stat(f"/proc/{name}/stat")
            if fields:
                table[int(name)] = Process(fields)
    return table


def thread_states(pid: int, process: Process) -> list[bytes]:
    """Return the state of every thread."""
    if process.threads < 2:
        return [process.state]
    try:
        names = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [
        fields[0] for fields in (read_stat(f"/proc/{pid}/task/{n}/stat") for n in names) if fields
    ]


def ticks_now() -> int:
    with open("/proc/uptime", "rb") as file:
        return int(float(file.read().split()[0]) * os.sysconf("SC_CLK_TCK"))


def ignores_interrupt(pid: int) -> bool:
    """Return whether a process ignores SIGINT and SIGQUIT, like background jobs of bash."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith("SigIgn:"):
                    mask = int(line.split()[1], 16)
                    return mask & 0b110 == 0b110
    except (OSError, ValueError):
        pass
    return False


def send_signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


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


# --- commands -----------------------------------------------------------------------------------


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
        self.sequence = self.stage = self.start_ticks = self.pid = 0
        self.started = 0.0
        self.timed_out = self.restarted = self.lost = self.ready = False
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

    def _send_command(self) -> None:
        self._send(f"\\builtin . {self.file} </dev/null {SHELL_STATUS_FD}>&-; ")

    def run(self, command: bytes, timeout_s: float, reply: Reply) -> None:
        if self.reply:
            raise OpError("op", "the shell session is busy with another command")
        if not self.pid:
            self._launch_again()
        self._pass_on(command)
        self.started, self.start_ticks = time.monotonic(), ticks_now()
        self.timed_out, self.stage = False, 0
        # The second command reports the end of a session between two commands.
        self.restarted, self.lost = self.lost, False
        self.sequence += 1
        self.reply = reply
        if self.ready:
            self._send_command()
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
            self.status = rest[-MAX_STATUS:]
            for line in lines:
                self._take_status(line)
        elif data == b"":
            self.loop.forget(fd)
            self.status_r = None

    def _take_status(self, line: bytes) -> None:
        sequence, _, rest = line.partition(b" ")
        code, _, cwd = rest.partition(b" ")
        # Every process of the guest can write here; skip lines that bash would not write.
        if not code.isdigit() or len(code) > 3:
            return
        self.cwd = os.fsdecode(cwd)
        if not self.ready:
            # Messages of bash about the absent terminal are not output of a command.
            self.ready = True
            drain(self.out_r, self.capture)
            self.capture.take()
            if self.reply:
                self._send_command()
        elif sequence == str(self.sequence).encode():
            self._finish(int(code))

    def _finish(self, code: int) -> None:
        """Answer the running command, if any."""
        reply, self.reply = self.reply, None
        if reply is None:
            return
        self.loop.cancel(self.timer)
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


# --- files --------------------------------------------------------------------------------------


def file_op(action: Operation) -> Operation:
    """Turn an OSError of a file operation into an OpError that names the path."""

    def wrapped(server: Server, request: Request, body: bytes) -> Result:
        try:
            return action(server, request, body)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            raise OpError(
                "limit" if full else "file", "{}: {}".format(request["path"], error.strerror)
            ) from None

    return wrapped


@file_op
def op_stat(server: Server, request: Request, body: bytes) -> Result:
    path = request["path"]
    info = os.stat(path) if request.get("follow", True) else os.lstat(path)
    return entry(path, info), b""


def entry(path: str, info: os.stat_result) -> Header:
    mode = info.st_mode
    kinds = ((stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"), (stat.S_ISREG, "file"))
    kind = next((name for test, name in kinds if test(mode)), "other")
    target = os.readlink(path) if kind == "link" else ""
    return {"kind": kind, "mode": stat.S_IMODE(mode), "size": info.st_size, "target": target}


@file_op
def op_list(server: Server, request: Request, body: bytes) -> Result:
    names = sorted(os.listdir(request["path"]))
    base = request["path"].rstrip("/")
    entries = {}
    for name in names:
        path = base + "/" + name
        try:
            entries[name] = entry(path, os.lstat(path))
        except OSError:
            # The entry was removed or replaced after the listing.
            continue
    return {"entries": entries}, b""


@file_op
def op_read(server: Server, request: Request, body: bytes) -> Result:
    # O_NONBLOCK, because opening a FIFO must not wait for its other end.
    fd = os.open(request["path"], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            kind = "a directory" if stat.S_ISDIR(info.st_mode) else "not a regular file"
            raise OpError("file", "{}: is {}".format(request["path"], kind))
        return {"size": info.st_size}, os.pread(fd, request["limit"], request["offset"])
    finally:
        os.close(fd)


@file_op
def op_write(server: Server, request: Request, body: bytes) -> Result:
    path = request["path"]
    if request["offset"] == 0:
        make_parents(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(path, flags | (os.O_TRUNC if request["offset"] == 0 else 0), 0o644)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OpError("file", f"{path}: is not a regular file")
        view = memoryview(body)
        position = request["offset"]
        while view:
            done = os.pwrite(fd, view, position)
            view, position = view[done:], position + done
        if request.get("mode") is not None:
            os.fchmod(fd, request["mode"])
    finally:
        os.close(fd)
    return {}, b""


@file_op
def op_make(server: Server, request: Request, body: bytes) -> Result:
    """Make a directory (an existing one stays) or a symbolic link (replaces an existing one)."""
    path = request["path"]
    if request["kind"] == "dir":
        make_folders(path)
        if request.get("mode") is not None:
            os.chmod(path, request["mode"])
    else:
        make_parents(path)
        if os.path.islink(path):
            os.unlink(path)
        os.symlink(request["target"], path)
    return {}, b""


def make_parents(path: str) -> None:
    try:
        make_folders(os.path.dirname(path) or "/")
    except FileExistsError:
        # A file is in the way; a later open of the path reports the error.
        pass


def make_folders(path: str) -> None:
    """Make a folder and its parents. os.makedirs would recurse, and a path may be deep."""
    missing = []
    while not os.path.isdir(path):
        try:
            os.mkdir(path)
            break
        except FileNotFoundError:
            above = os.path.dirname(path.rstrip("/"))
            if above == path or not above:
                raise
            missing.append(path)
            path = above
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:
            # The guest made it meanwhile; if it is a file, the next mkdir fails.
            pass


# --- the network --------------------------------------------------------------------------------


def listen(port: int) -> int:
    """Return a socket that listens on a port of the loopback.

    Without SO_REUSEADDR and SO_REUSEPORT, no other socket can listen there while any process
    holds this one open.
    """
    import _socket

    link = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        link.bind(("127.0.0.1", port))
        link.listen(BACKLOG)
    except OSError as error:
        link.close()
        raise OpError("op", f"port {port}: {error.strerror}") from None
    return link.detach()


class Dial:
    """One attempt to connect to a port of the loopback, first over IPv4, then over IPv6."""

    def __init__(self, loop: Loop, port: int, deadline_s: float, reply: Reply) -> None:
        import _socket

        self.loop, self.port, self.reply = loop, port, reply
        self.ways = [(_socket.AF_INET, "127.0.0.1"), (_socket.AF_INET6, "::1")]
        self.link: _socket.socket | None = None
        self.timer: Timer | None = loop.later(deadline_s, self._expire)
        self._next()

    def _next(self) -> None:
        import _socket

        family, address = self.ways.pop(0)
        try:
            kind = _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK | _socket.SOCK_CLOEXEC
            self.link = _socket.socket(family, kind)
            code = self.link.connect_ex((address, self.port))
        except OSError as error:
            code = error.errno or errno.EIO
        if code in (0, errno.EINPROGRESS) and self.link is not None:
            self.loop.watch_write(self.link.fileno(), self._ready)
        else:
            self._failed(code)

    def _ready(self, fd: int) -> None:
        import _socket

        assert self.link is not None
        code = self.link.getsockopt(_socket.SOL_SOCKET, _socket.SO_ERROR)
        if code:
            self._failed(code)
            return
        self.loop.watch_write(fd, None)
        self.loop.cancel(self.timer)
        self.reply({}, b"", self.link.detach())

    def _failed(self, code: int) -> None:
        self._let_go()
        if self.ways:
            self._next()
        else:
            self.loop.cancel(self.timer)
            self.reply({"error": f"port {self.port}: {os.strerror(code)}", "kind": "op"})

    def _expire(self) -> None:
        self.ways.clear()
        self._failed(errno.ETIMEDOUT)

    def _let_go(self) -> None:
        if self.link is not None:
            self.loop.forget(self.link.detach())
            self.link = None


# --- the process table --------------------------------------------------------------------------


def op_ps(server: Server, request: Request, body: bytes) -> Result:
    shells = [shell.pid for shell in server.shells.values()]
    table = sorted(process_table().items())
    others = [pid for pid, seen in table if not (seen.ended() or pid in shells)]
    # For these the kernel walks the tables of the whole host, which takes some milliseconds.
    ports = listening_ports() if others else {}
    found = []
    for pid in others:
        try:
            folder = f"/proc/{pid}"
            argv = read_argv(folder)
            if not argv:
                # A first thread that has ended, or is ending, has only its number left.
                folder += "/task/" + max(os.listdir(folder + "/task"), key=int)
                argv = read_argv(folder)
                if not argv and not has_memory(folder):
                    # The thread is ending.
                    continue
        except (OSError, ValueError):
            # The process has ended or has no thread left.
            continue
        found.append([pid, argv, ports_of(folder, ports) if ports else []])
    return {"processes": found}, b""


def read_argv(folder: str) -> list[str]:
    with open(folder + "/cmdline", "rb") as file:
        return [os.fsdecode(part) for part in file.read(MAX_ARGV).split(b"\0")[:-1]]


def has_memory(folder: str) -> bool:
    with open(folder + "/statm", "rb") as file:
        return not file.read().startswith(b"0 ")


def listening_ports() -> dict[str, int]:
    """Return {link target of a descriptor: TCP port} for every listening socket."""
    ports = {}
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(name) as file:
                for line in file.readlines()[1:]:
                    fields = line.split()
                    if fields[3] == "0A":
                        ports["socket:[" + fields[9] + "]"] = int(fields[1].rpartition(":")[2], 16)
        except OSError:
            continue
    return ports


def ports_of(folder: str, ports: dict[str, int]) -> list[int]:
    found = set()
    try:
        for fd in os.listdir(folder + "/fd"):
            try:
                target = os.readlink(folder + "/fd/" + fd)
            except OSError:
                # The descriptor was closed after the listing.
                continue
            if target in ports:
                found.add(ports[target])
    except OSError:
        pass
    return sorted(found)


def op_usage(server: Server, request: Request, body: bytes) -> Result:
    processes = [Process(read_stat("/proc/self/stat")), *process_table().values()]
    used = {
        "cpu_s": sum(process.cpu_ticks for process in processes) / os.sysconf("SC_CLK_TCK"),
        "memory_bytes": sum(p.resident_pages for p in processes) * os.sysconf("SC_PAGE_SIZE"),
        "processes": sum(not process.ended() for process in processes),
    }
    return used, b""


def op_freeze(server: Server, request: Request, body: bytes) -> Result:
    server.freezer.freeze()
    return {}, b""


def op_thaw(server: Server, request: Request, body: bytes) -> Result:
    server.freezer.thaw()
    held, server.held = server.held, []
    for item in held:
        server.handle(*item)
    return {}, b""


def to_json(value: object) -> str:
    """Return strict ASCII JSON of the value types in replies."""
    if isinstance(value, str):
        return '"' + "".join(map(escape, value)) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(to_json(k) + ":" + to_json(v) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(to_json, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def escape(char: str) -> str:
    code = ord(char)
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    if code < 0x20 or code > 0x7E or char in '"\\':
        return f"\\u{code:04x}"
    return char


# --- serving ------------------------------------------------------------------------------------


class Server:
    """Reads frames, runs operations, and writes replies in the order in which they finish."""

    instant: dict[str, Operation] = {
        "stat": op_stat,
        "list": op_list,
        "read": op_read,
        "write": op_write,
        "make": op_make,
        "ps": op_ps,
        "usage": op_usage,
        "freeze": op_freeze,
        "thaw": op_thaw,
    }
    # Operations that could change files while the host reads frozen ones.
    held_when_frozen = frozenset(("write", "make", "exec", "shell.open", "shell.run"))

    def __init__(self, fd: int) -> None:
        self.fd, self.loop = fd, Loop()
        self.inbox, self.outbox = bytearray(), bytearray()
        # Descriptors to pass on, each with the position in the outbox of the byte it goes with.
        self.passing: list[tuple[int, int]] = []
        self.shells: dict[int, Shell] = {}
        self.freezer = Freezer(self.loop)
        self.held: list[tuple[Request, bytes]] = []
        self.loop.watch(fd, self._receive)

    def _receive(self, fd: int) -> None:
        data = read_some(fd)
        if data is None:
            return
        if data == b"":
            # The host is gone; the exit of PID 1 ends every process here.
            os._exit(0)
        self.inbox += data
        while len(self.inbox) >= 8:
            split = 8 + int.from_bytes(self.inbox[:4], "big")
            end = split + int.from_bytes(self.inbox[4:8], "big")
            if len(self.inbox) < end:
                return
            with memoryview(self.inbox) as view:
                request, body = marshal.loads(view[8:split]), bytes(view[split:end])
            del self.inbox[:end]
            self.handle(request, body)

    def handle(self, request: Request, body: bytes) -> None:
        """Answer a request now, later, or after the thaw."""

        def reply(header: Header, content: bytes = b"", descriptor: int | None = None) -> None:
            self.send(dict(header, id=request["id"]), content, descriptor)

        if self.freezer.depth and request["op"] in self.held_when_frozen:
            self.held.append((request, body))
            return
        try:
            self._start(request, body, reply)
        except OpError as error:
            reply({"error": str(error), "kind": error.kind})
        # The guest caused the refusal of the kernel: for example, it removed bash or used up space.
        except OSError as error:
            kind = "limit" if error.errno in EXHAUSTED else "file"
            reply({"error": f"{request['op']}: {error.strerror}", "kind": kind})
        # One bad request must not end the sandbox; the host classifies the error by its kind.
        except Exception as error:  # noqa: BLE001
            reply({"error": f"{type(error).__name__}: {error}", "kind": "op"})

    def _start(self, request: Request, body: bytes, reply: Reply) -> None:
        op = request["op"]
        if op in self.instant:
            reply(*self.instant[op](self, request, body))
        elif op == "exec":
            execute(self.loop, request, body, reply)
        elif op == "shell.open":
            number = request["shell"]
            self.shells[number] = Shell(self.loop, number, request)
            reply({})
        elif op in ("shell.run", "shell.close"):
            number = request["shell"]
            if number not in self.shells:
                raise OpError("op", f"there is no shell session {number} here, or not any more")
            if op == "shell.run":
                self.shells[number].run(body, request["deadline_s"], reply)
            else:
                self.shells.pop(number).close()
                reply({})
        elif op == "listen":
            reply({}, b"", listen(request["port"]))
        elif op == "connect":
            Dial(self.loop, request["port"], request["deadline_s"], reply)
        else:
            raise OpError("op", f"unknown operation {op!r}")

    def send(self, header: Header, body: bytes, descriptor: int | None = None) -> None:
        if descriptor is not None:
            header["descriptor"] = True
            self.passing.append((len(self.outbox), descriptor))
        head = to_json(header).encode("ascii")
        size = 8 + len(head) + len(body)
        if size > MAX_FRAME:
            message = f"the answer of {size} bytes is over the {MAX_FRAME} that are allowed"
            head = to_json({"id": header["id"], "error": message, "kind": "limit"}).encode("ascii")
            body = b""
        self.outbox += len(head).to_bytes(4, "big") + len(body).to_bytes(4, "big") + head + body
        self._flush(self.fd)

    def _flush(self, fd: int) -> None:
        try:
            while self.outbox:
                if self.passing:
                    done = self._pass_on(fd)
                else:
                    done = os.write(fd, memoryview(self.outbox)[: 4 * CHUNK])
                del self.outbox[:done]
        except BlockingIOError:
            self.loop.watch_write(fd, self._flush)
            return
        except OSError:
            os._exit(0)
        self.loop.watch_write(fd, None)

    def _pass_on(self, fd: int) -> int:
        """Write the bytes before the next descriptor, or one byte with the descriptor."""
        import _socket

        position, descriptor = self.passing[0]
        if position:
            done = os.write(fd, memoryview(self.outbox)[: min(position, 4 * CHUNK)])
        else:
            link = _socket.socket(fileno=fd)
            try:
                content = descriptor.to_bytes(4, sys.byteorder)
                rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, content)
                done = link.sendmsg([self.outbox[:1]], [rights])
            finally:
                link.detach()
            os.close(descriptor)
            del self.passing[0]
        self.passing = [(place - done, passed) for place, passed in self.passing]
        return done


def hide() -> None:
    """Make this process unreadable to the commands it starts (ptrace, /proc/1/fd, environ)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    pr_set_dumpable = 4
    libc.prctl(pr_set_dumpable, 0, 0, 0, 0)


def filter_calls(program: bytes) -> None:
    """Install a system call filter (classic BPF) for this process and all its children."""
    import ctypes
    import struct

    libc = ctypes.CDLL(None, use_errno=True)
    instructions = ctypes.create_string_buffer(program, len(program))
    filters = struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))
    pr_set_seccomp, mode_filter = 22, 2
    if libc.prctl(pr_set_seccomp, mode_filter, filters, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refuses the system call filter")


def open_channel() -> int:
    if len(sys.argv) == 1:
        return fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 100)
    import _socket

    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    link.connect(sys.argv[1])
    channel = fcntl.fcntl(link.fileno(), fcntl.F_DUPFD_CLOEXEC, 100)
    link.close()
    return channel


def serve(channel: int, process: int | None = None) -> None:
    """Answer requests from a socket until it closes; never return.

    `process` is a descriptor of this process; the greeting brings it to the host.
    """
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    # Without a handler of Python, the kernel drops every signal that a guest sends to PID 1.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.umask(0o022)
    server = Server(channel)
    version = "{}.{}.{}".format(*sys.version_info[:3])
    server.send({"id": 0, "protocol": PROTOCOL, "python": version}, b"", process)
    # After the greeting, while the host reads it, and before the first request.
    hide()
    server.loop.run()


def main() -> None:
    # Before the connection, which tells the host that the file is no longer needed.
    if len(sys.argv) > 2:
        with open(sys.argv[2], "rb") as file:
            filter_calls(file.read())
    serve(open_channel())


if __name__ == "__main__":
    main()
