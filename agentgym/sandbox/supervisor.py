"""The guest supervisor: PID 1 of a sandbox, standard library only (Python >= 3.8).

It owns everything that must happen inside: commands, persistent shells, file transfer, the
process table; the package `inside` has its parts. It answers frames on one socket: its standard
input, or the address in its first argument. When that socket closes, it exits, and every process
ends with it. A second argument names the file of a system call filter that only the supervisor
itself can install.

Frame: two big-endian 32-bit lengths (header, body), a header, a raw body. A request's header is
marshal (version 2), a reply's is JSON: the guest may trust the host, not the other way round. A
request carries ``id`` and ``op``; its reply carries the same ``id`` and either results or
``error``. Every request gets a reply; long ones (``exec``, ``shell.run``) do not delay the others.
A reply with ``descriptor`` brings one, with the first bytes of the frame (SCM_RIGHTS).

Without a fork server it starts once per sandbox, so it imports little. A fork server (`forking.py`)
imports it once.
"""

from __future__ import annotations

import errno
import fcntl
import marshal
import os
import sys

from agentgym.sandbox.inside.commands import execute
from agentgym.sandbox.inside.files import op_list, op_make, op_read, op_stat, op_write
from agentgym.sandbox.inside.freezing import Freezer
from agentgym.sandbox.inside.listing import list_processes, op_usage
from agentgym.sandbox.inside.loop import Loop
from agentgym.sandbox.inside.messages import OpError, to_json
from agentgym.sandbox.inside.output import CHUNK, read_some
from agentgym.sandbox.inside.ports import Dial, listen
from agentgym.sandbox.inside.shell import Shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from agentgym.sandbox.inside.messages import Header, Operation, Reply, Request, Result
else:
    import _signal as signal

PROTOCOL = 1
MAX_FRAME = 256 * 2**20
EXHAUSTED = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC)


class Server:
    """Reads frames, runs operations, and writes replies in the order in which they finish."""

    # Operations that could change files while the host reads frozen ones.
    held_when_frozen = frozenset(("write", "make", "exec", "shell.open", "shell.run", "shell.save"))

    def __init__(self, fd: int) -> None:
        self.fd, self.loop = fd, Loop()
        self.inbox, self.outbox = bytearray(), bytearray()
        # Descriptors to pass on, each with the position in the outbox of the byte it goes with.
        self.passing: list[tuple[int, int]] = []
        self.shells: dict[int, Shell] = {}
        self.freezer = Freezer(self.loop)
        self.held: list[tuple[Request, bytes]] = []
        self.instant: dict[str, Operation] = {
            "stat": op_stat,
            "list": op_list,
            "read": op_read,
            "write": op_write,
            "make": op_make,
            "ps": self._list_processes,
            "usage": op_usage,
            "freeze": self._freeze,
            "thaw": self._thaw,
        }
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
            reply(*self.instant[op](request, body))
        elif op == "exec":
            execute(self.loop, request, body, reply)
        elif op == "shell.open":
            number = request["shell"]
            self.shells[number] = Shell(self.loop, number, request)
            reply({})
        elif op in ("shell.run", "shell.save", "shell.close"):
            number = request["shell"]
            if number not in self.shells:
                raise OpError("op", f"there is no shell session {number} here, or not any more")
            if op == "shell.run":
                self.shells[number].run(body, request["deadline_s"], reply)
            elif op == "shell.save":
                self.shells[number].save(request["deadline_s"], reply)
            else:
                self.shells.pop(number).close()
                reply({})
        elif op == "listen":
            reply({}, b"", listen(request["port"]))
        elif op == "connect":
            Dial(self.loop, request["port"], request["deadline_s"], reply)
        else:
            raise OpError("op", f"unknown operation {op!r}")

    def _list_processes(self, request: Request, body: bytes) -> Result:
        return list_processes([shell.pid for shell in self.shells.values()])

    def _freeze(self, request: Request, body: bytes) -> Result:
        self.freezer.freeze()
        return {}, b""

    def _thaw(self, request: Request, body: bytes) -> Result:
        self.freezer.thaw()
        held, self.held = self.held, []
        for item in held:
            self.handle(*item)
        return {}, b""

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
