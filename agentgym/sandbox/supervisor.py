"""The guest supervisor: PID 1 of a sandbox, one file, standard library only (Python >= 3.7).

It owns everything that must happen inside: commands, persistent shells, file transfer, the
process table. It answers frames on one socket, which it finds as standard input, and when
that socket closes it exits, and every process of the sandbox with it.

Frame: ``>II`` (header bytes, body bytes), a header, a raw body. A request's header is marshal
(version 2), a reply's is JSON: the guest may trust the host, not the other way round. A request
carries ``id`` and ``op``; its reply carries the same ``id`` and either results or ``error``.
Every request is answered; long ones (``exec``, ``shell.run``) do not delay the others.

It starts once per sandbox, so imports are counted: `json`, `re` and `enum` (which `signal`
pulls in) would double its start-up time.
"""

import _signal as signal
import errno
import fcntl
import marshal
import os
import select
import stat
import struct
import sys
import time

PROTOCOL = 1
CHUNK = 65536
SHELL_STATUS_FD = 200
GRACE_S = 0.5
FREEZE_DEADLINE_S = 5.0


class OpError(Exception):
    """An operation that was refused; `kind` is file, limit or op."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Capture:
    """Output with a byte limit: the head and the tail are kept, the middle is counted."""

    def __init__(self, limit):
        self.head_room = limit - limit // 2
        self.tail_room = limit // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.omitted = 0

    def add(self, data):
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

    def take(self):
        """Return (bytes, omitted) and start anew."""
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


class Loop:
    """Readiness callbacks, timers and child exits over one epoll."""

    def __init__(self):
        self.poll = select.epoll()
        self.readers = {}
        self.writers = {}
        self.timers = []
        self.children = {}
        wake_r, wake_w = os.pipe()
        for fd in (wake_r, wake_w):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.watch(wake_r, self._reap)

    def watch(self, fd, callback):
        os.set_blocking(fd, False)
        self.readers[fd] = callback
        self._update(fd)

    def watch_write(self, fd, callback):
        if callback is None:
            self.writers.pop(fd, None)
        else:
            self.writers[fd] = callback
        self._update(fd)

    def _update(self, fd):
        mask = (select.EPOLLIN if fd in self.readers else 0) | (
            select.EPOLLOUT if fd in self.writers else 0
        )
        try:
            self.poll.modify(fd, mask)
        except FileNotFoundError:
            if mask:
                self.poll.register(fd, mask)

    def forget(self, fd):
        """Stop watching a descriptor and close it."""
        if fd is None:
            return
        self.readers.pop(fd, None)
        self.writers.pop(fd, None)
        try:
            self.poll.unregister(fd)
        except OSError:
            pass
        os.close(fd)

    def later(self, delay_s, callback):
        timer = [time.monotonic() + delay_s, callback]
        self.timers.append(timer)
        return timer

    def cancel(self, timer):
        if timer in self.timers:
            self.timers.remove(timer)

    def _reap(self, fd):
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

    def run(self):
        while True:
            wait = -1
            if self.timers:
                wait = max(0.0, min(t[0] for t in self.timers) - time.monotonic())
            for fd, event in self.poll.poll(wait):
                if event & select.EPOLLOUT and fd in self.writers:
                    self.writers[fd](fd)
                if event & ~select.EPOLLOUT and fd in self.readers:
                    self.readers[fd](fd)
            now = time.monotonic()
            for timer in [t for t in self.timers if t[0] <= now]:
                self.cancel(timer)
                timer[1]()


def exit_code(status):
    """Return a wait status the way a shell reports it."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def read_some(fd):
    """Return what is there: bytes, b"" at the end, None where nothing is yet."""
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def drain(fd, capture, rounds=64):
    """Move what is in a pipe now into a capture; bounded, because a writer may never stop."""
    for _ in range(rounds):
        data = read_some(fd)
        if not data:
            return
        capture.add(data)


# --- processes ----------------------------------------------------------------------------------


def spawn(argv, cwd, env, fds):
    """Start a program in a session of its own; `fds` maps its descriptors to ours.

    posix_spawn costs half of what fork and exec do from Python.
    """
    actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in fds.items()]
    # Python ignores these two; a command expects the defaults.
    defaults = [signal.SIGPIPE, signal.SIGXFSZ]
    try:
        os.chdir(cwd)
    except OSError as error:
        raise OpError("file", f"{cwd}: {error.strerror}") from None
    try:
        pid = os.posix_spawn(
            find_program(argv[0], env),
            argv,
            env,
            file_actions=actions,
            setsid=True,
            setsigdef=defaults,
        )
    except BlockingIOError:
        raise OpError("limit", "cannot start a process: the process limit is reached") from None
    finally:
        os.chdir("/")
    try:
        # When memory runs out the kernel should pick a command and leave the supervisor.
        with open(f"/proc/{pid}/oom_score_adj", "w") as file:
            file.write("500")
    except OSError:
        pass
    return pid


def find_program(name, env):
    """Return the path of a program; a name with a slash is one."""
    if "/" in name:
        return name
    for folder in env.get("PATH", os.defpath).split(":"):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(errno.ENOENT, "command not found")


def process_table():
    """Return {pid: (ppid, session, state, start_ticks)} of everything but this process."""
    table = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or name == "1":
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if len(fields) > 19:
            table[int(name)] = (int(fields[1]), int(fields[3]), fields[0], int(fields[19]))
    return table


def ticks_now():
    with open("/proc/uptime", "rb") as file:
        return int(float(file.read().split()[0]) * os.sysconf("SC_CLK_TCK"))


def ignores_interrupt(pid):
    """Whether a process ignores both SIGINT and SIGQUIT, as bash makes its background jobs do."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith("SigIgn:"):
                    mask = int(line.split()[1], 16)
                    return mask & 0b110 == 0b110
    except (OSError, ValueError):
        pass
    return False


def send_signal(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass


# --- commands -----------------------------------------------------------------------------------


class Command:
    """One `exec`: a process group with captured output, ended at its deadline."""

    def __init__(self, loop, request, stdin, reply):
        self.loop, self.reply = loop, reply
        self.started = time.monotonic()
        self.timed_out = False
        self.out, self.err = Capture(request["limit"]), Capture(request["limit"])
        out_r, out_w = os.pipe()
        err_r, err_w = os.pipe()
        in_r, self.in_w = os.pipe()
        try:
            argv = request["argv"]
            self.pid = spawn(argv, request["cwd"], request["env"], {0: in_r, 1: out_w, 2: err_w})
        except (OpError, OSError):
            for fd in (out_r, err_r, self.in_w):
                os.close(fd)
            raise
        finally:
            for fd in (in_r, out_w, err_w):
                os.close(fd)
        self.out_r, self.err_r = out_r, err_r
        loop.children[self.pid] = self._exited
        loop.watch(out_r, lambda fd: self._read(fd, self.out))
        loop.watch(err_r, lambda fd: self._read(fd, self.err))
        self.stdin = memoryview(stdin)
        os.set_blocking(self.in_w, False)
        self._feed(self.in_w)
        self.timer = loop.later(request["deadline_s"], self._expire)

    def _feed(self, fd):
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

    def _read(self, fd, capture):
        data = read_some(fd)
        if data:
            capture.add(data)
        elif data == b"":
            self.loop.forget(fd)
            if fd == self.out_r:
                self.out_r = None
            else:
                self.err_r = None

    def _expire(self):
        self.timed_out = True
        self._signal_group(signal.SIGTERM)
        self.timer = self.loop.later(GRACE_S, lambda: self._signal_group(signal.SIGKILL))

    def _signal_group(self, number):
        try:
            os.killpg(self.pid, number)
        except OSError:
            pass

    def _exited(self, code):
        self.loop.cancel(self.timer)
        if self.timed_out:
            self._signal_group(signal.SIGKILL)
        for fd, capture in ((self.out_r, self.out), (self.err_r, self.err)):
            if fd is not None:
                drain(fd, capture)
                self.loop.forget(fd)
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


def execute(loop, request, stdin, reply):
    """Run a command; one that cannot be started ends as a shell would report it."""
    try:
        Command(loop, request, stdin, reply)
    except OSError as error:
        text = "{}: {}\n".format(request["argv"][0], error.strerror).encode("utf-8", "replace")
        code = 127 if error.errno == errno.ENOENT else 126
        header = {"exit_code": code, "timed_out": False, "omitted": 0, "stdout_bytes": 0}
        reply(dict(header, duration_s=0.0), text)


class Shell:
    """A persistent bash, fed one sourced file per command.

    It is an interactive bash without a terminal: on SIGINT such a shell drops the running
    command and reads the next line, which is what lets a session outlive a hung command, and
    nothing it runs can wait for a terminal. Each status line carries the number of its command,
    so that a late one is recognised.
    """

    def __init__(self, loop, number, request):
        self.loop, self.number, self.cwd, self.env = loop, number, request["cwd"], request["env"]
        self.capture = Capture(request["limit"])
        self.file = f"/run/agentgym/shell-{number}"
        self.sequence = 0
        self.reply = self.timer = None
        self.pid = 0
        self._launch()

    def _launch(self):
        in_r, self.in_w = os.pipe()
        self.out_r, out_w = os.pipe()
        self.status_r, status_w = os.pipe()
        self.cwd = self.cwd if os.path.isdir(self.cwd) else "/"
        argv = ["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"]
        env = dict(self.env, PS1="", PS2="")
        fds = {0: in_r, 1: out_w, 2: out_w, SHELL_STATUS_FD: status_w}
        try:
            self.pid = spawn(argv, self.cwd, env, fds)
        except (OpError, OSError):
            for fd in (self.in_w, self.out_r, self.status_r):
                os.close(fd)
            self.pid = 0
            raise
        finally:
            for fd in (in_r, out_w, status_w):
                os.close(fd)
        self.status = b""
        self.loop.children[self.pid] = self._exited
        self.loop.watch(self.out_r, self._read_output)
        self.loop.watch(self.status_r, self._read_status)
        self.ready = False
        self._send("set +H +o history; unset PS1 PS2 HISTFILE; ")

    def _send(self, line):
        tail = f"printf '%s %s %s\\0' {self.sequence} $? \"$PWD\" >&{SHELL_STATUS_FD}\n"
        try:
            os.write(self.in_w, (line + tail).encode())
        except OSError:
            pass

    def _send_command(self):
        self._send(f". {self.file} </dev/null {SHELL_STATUS_FD}>&-; ")

    def run(self, command, timeout_s, reply):
        if self.reply:
            raise OpError("op", "the shell session is busy with another command")
        if not self.pid:
            self._launch()
        self.sequence += 1
        self.reply, self.timed_out, self.restarted, self.stage = reply, False, False, 0
        self.started, self.start_ticks = time.monotonic(), ticks_now()
        try:
            with open(self.file, "wb") as file:
                file.write(command)
        except OSError as error:
            self.reply = None
            raise OpError("limit", f"cannot pass the command on: {error.strerror}") from None
        if self.ready:
            self._send_command()
        self.timer = self.loop.later(timeout_s, self._expire)

    def _read_output(self, fd):
        data = read_some(fd)
        if data:
            self.capture.add(data)
        elif data == b"":
            self.loop.forget(fd)
            self.out_r = None

    def _read_status(self, fd):
        data = read_some(fd)
        if not data:
            if data == b"":
                self.loop.forget(fd)
                self.status_r = None
            return
        self.status += data
        while b"\0" in self.status:
            line, _, self.status = self.status.partition(b"\0")
            sequence, code, cwd = line.split(b" ", 2)
            self.cwd = os.fsdecode(cwd)
            if not self.ready:
                # What bash says about the absent terminal is not output of any command.
                self.ready = True
                drain(self.out_r, self.capture)
                self.capture.take()
                if self.reply:
                    self._send_command()
            elif self.reply and int(sequence) == self.sequence:
                self._finish(int(code))

    def _finish(self, code):
        self.loop.cancel(self.timer)
        if self.out_r is not None:
            drain(self.out_r, self.capture)
        output, omitted = self.capture.take()
        reply, self.reply = self.reply, None
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

    def _victims(self):
        """Return the processes that the running command started, oldest first."""
        table = process_table()
        found = []
        for pid, (ppid, session, _, start) in sorted(table.items()):
            parent = ppid
            while parent in table and parent != self.pid:
                parent = table[parent][0]
            ours = session == self.pid or parent == self.pid
            if ours and start >= self.start_ticks and pid != self.pid:
                found.append(pid)
        return found

    def _expire(self):
        """Escalate until bash reads again: interrupt, terminate, kill, at last a new bash."""
        self.timed_out = True
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL)
        if self.stage == len(signals):
            send_signal(self.pid, signal.SIGKILL)
            return
        # Bash first: it must know of the interrupt before it sees its command die of it.
        send_signal(self.pid, signal.SIGINT)
        for pid in self._victims():
            # Background jobs ignore the interrupt and may live on, until nothing else helps.
            if self.stage == 3 or not ignores_interrupt(pid):
                send_signal(pid, signals[self.stage])
                send_signal(pid, signal.SIGCONT)
        self.stage += 1
        sequence = self.sequence
        self.loop.later(0.02, lambda: self.reply and sequence == self.sequence and self._send(""))
        self.timer = self.loop.later(GRACE_S, self._expire)

    def _exited(self, code):
        self.pid = 0
        if self.out_r is not None:
            drain(self.out_r, self.capture)
        for fd in (self.in_w, self.out_r, self.status_r):
            self.loop.forget(fd)
        self.out_r = self.status_r = None
        if self.reply:
            self.restarted = True
            self._finish(code)

    def close(self):
        if self.pid:
            send_signal(self.pid, signal.SIGHUP)
            send_signal(self.pid, signal.SIGKILL)


# --- files --------------------------------------------------------------------------------------


def file_op(action):
    """Turn an OSError of a file operation into an OpError that names the path."""

    def wrapped(server, request, body):
        try:
            return action(server, request, body)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            raise OpError(
                "limit" if full else "file", "{}: {}".format(request["path"], error.strerror)
            ) from None

    return wrapped


@file_op
def op_stat(server, request, body):
    path = request["path"]
    info = os.stat(path) if request.get("follow", True) else os.lstat(path)
    return entry(path, info), b""


def entry(path, info):
    mode = info.st_mode
    kinds = ((stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"), (stat.S_ISREG, "file"))
    kind = next((name for test, name in kinds if test(mode)), "other")
    target = os.readlink(path) if kind == "link" else ""
    return {"kind": kind, "mode": stat.S_IMODE(mode), "size": info.st_size, "target": target}


@file_op
def op_list(server, request, body):
    names = sorted(os.listdir(request["path"]))
    base = request["path"].rstrip("/")
    entries = {}
    for name in names:
        path = base + "/" + name
        entries[name] = entry(path, os.lstat(path))
    return {"entries": entries}, b""


@file_op
def op_read(server, request, body):
    # O_NONBLOCK: opening a FIFO must not wait for its other end.
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
def op_write(server, request, body):
    path = request["path"]
    if request["offset"] == 0:
        os.makedirs(os.path.dirname(path) or "/", exist_ok=True)
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
def op_make(server, request, body):
    """Make a directory (kept if there) or a symbolic link (replaced if there)."""
    path = request["path"]
    if request["kind"] == "dir":
        os.makedirs(path, exist_ok=True)
        if request.get("mode") is not None:
            os.chmod(path, request["mode"])
    else:
        os.makedirs(os.path.dirname(path) or "/", exist_ok=True)
        if os.path.islink(path):
            os.unlink(path)
        os.symlink(request["target"], path)
    return {}, b""


# --- the process table --------------------------------------------------------------------------


def op_ps(server, request, body):
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
    found = []
    for pid, (_, _, state, _) in sorted(process_table().items()):
        if state in b"ZX":
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                argv = [os.fsdecode(part) for part in file.read().split(b"\0")[:-1]]
        except OSError:
            continue
        listening = set()
        if ports:
            folder = f"/proc/{pid}/fd"
            try:
                for fd in os.listdir(folder):
                    listening.add(ports.get(os.readlink(folder + "/" + fd)))
            except OSError:
                pass
        own_shell = any(shell.pid == pid for shell in server.shells.values())
        if not own_shell:
            found.append([pid, argv, sorted(port for port in listening if port is not None)])
    return {"processes": found}, b""


def op_usage(server, request, body):
    ticks = memory = count = 0
    page = os.sysconf("SC_PAGE_SIZE")
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        # utime, stime and those of reaped children; resident pages
        ticks += sum(int(fields[i]) for i in (11, 12, 13, 14))
        memory += int(fields[21]) * page
        count += 1
    used = {"cpu_s": ticks / os.sysconf("SC_CLK_TCK"), "memory_bytes": memory, "processes": count}
    return used, b""


def op_freeze(server, request, body):
    """Stop every other process; repeat until none is found running."""
    deadline = time.monotonic() + FREEZE_DEADLINE_S
    while True:
        running = [p for p, row in process_table().items() if row[2] not in b"TtZX"]
        if not running:
            return {}, b""
        if time.monotonic() > deadline:
            op_thaw(server, request, body)
            raise OpError("op", f"processes {running[:5]} would not stop")
        for pid in running:
            if pid not in server.frozen:
                server.frozen.add(pid)
            send_signal(pid, signal.SIGSTOP)
        select.select([], [], [], 0.001)


def op_thaw(server, request, body):
    """Let go on what `freeze` stopped, and nothing that was stopped before."""
    while server.frozen:
        send_signal(server.frozen.pop(), signal.SIGCONT)
    return {}, b""


def to_json(value):
    """Return strict ASCII JSON of what replies are made of."""
    if isinstance(value, str):
        return '"' + "".join(map(escape, value)) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(to_json(k) + ":" + to_json(v) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(to_json, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def escape(char):
    code = ord(char)
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    if code < 0x20 or code > 0x7E or char in '"\\':
        return f"\\u{code:04x}"
    return char


# --- serving ------------------------------------------------------------------------------------


class Server:
    """Reads frames, runs operations, writes replies in whatever order they finish."""

    instant = {
        "stat": op_stat,
        "list": op_list,
        "read": op_read,
        "write": op_write,
        "make": op_make,
        "ps": op_ps,
        "usage": op_usage,
        "freeze": op_freeze,
        "thaw": op_thaw,
        "ping": lambda server, request, body: ({}, b""),
    }

    def __init__(self, fd):
        self.fd, self.loop = fd, Loop()
        self.inbox, self.outbox = bytearray(), bytearray()
        self.shells, self.frozen = {}, set()
        self.loop.watch(fd, self._receive)

    def _receive(self, fd):
        data = read_some(fd)
        if data is None:
            return
        if data == b"":
            # The host is gone: leaving as PID 1 ends everything that runs here.
            os._exit(0)
        self.inbox += data
        while len(self.inbox) >= 8:
            head, body = struct.unpack_from(">II", self.inbox)
            end = 8 + head + body
            if len(self.inbox) < end:
                return
            request = marshal.loads(self.inbox[8 : 8 + head])
            content = bytes(self.inbox[8 + head : end])
            del self.inbox[:end]
            self._handle(request, content)

    def _handle(self, request, body):
        def reply(header, content=b""):
            self.send(dict(header, id=request["id"]), content)

        try:
            op = request["op"]
            if op in self.instant:
                reply(*self.instant[op](self, request, body))
            elif op == "exec":
                execute(self.loop, request, body, reply)
            elif op == "shell.open":
                number = request["shell"]
                self.shells[number] = Shell(self.loop, number, request)
                reply({})
            elif op == "shell.run":
                self.shells[request["shell"]].run(body, request["deadline_s"], reply)
            elif op == "shell.close":
                self.shells.pop(request["shell"]).close()
                reply({})
            else:
                raise OpError("op", f"unknown operation {op!r}")
        except OpError as error:
            reply({"error": str(error), "kind": error.kind})
        # One bad request must not take the sandbox down with it; the host classifies the kind.
        except Exception as error:  # noqa: BLE001
            reply({"error": f"{type(error).__name__}: {error}", "kind": "op"})

    def send(self, header, body):
        head = to_json(header).encode("ascii")
        self.outbox += struct.pack(">II", len(head), len(body)) + head + body
        self._flush(self.fd)

    def _flush(self, fd):
        try:
            while self.outbox:
                del self.outbox[: os.write(fd, memoryview(self.outbox)[: 4 * CHUNK])]
        except BlockingIOError:
            self.loop.watch_write(fd, self._flush)
            return
        except OSError:
            os._exit(0)
        self.loop.watch_write(fd, None)


def hide():
    """Make this process unreadable to the commands it starts (ptrace, /proc/1/fd, environ)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    pr_set_dumpable = 4
    libc.prctl(pr_set_dumpable, 0, 0, 0, 0)


def main():
    channel = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 100)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    # With no handler of Python's, the kernel drops every signal a guest sends to PID 1.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.umask(0o022)
    server = Server(channel)
    version = "{}.{}.{}".format(*sys.version_info[:3])
    server.send({"id": 0, "protocol": PROTOCOL, "python": version}, b"")
    # After the greeting, while the host reads it, and before the first request.
    hide()
    server.loop.run()


if __name__ == "__main__":
    main()
