"""Runs the program of an MCP server, and ends with it whatever it started.

A child in a session of its own belongs to no process group that the host could signal. Run as a
script, this module is the parent of a server: all its orphans become children of this process
(``PR_SET_CHILD_SUBREAPER``, prctl(2)), which kills them when the server has ended. It imports
nothing but the standard library, because it is started for each server.

Of the server's standard error only the end is kept, because a server may write without an end.

SIGTERM is passed on to the server's process group. SIGQUIT kills the server. If the host
was killed meanwhile, this process removes the folder of the server.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time

_SET_DEATH_SIGNAL = 1
_SET_SUBREAPER = 36
_KILLING_S = 5.0
_PAUSE_S = 0.02
_FLAGS, _EXITING = 6, 0x4  # field of /proc/PID/stat behind the name, and PF_EXITING in it
_SHELL_NOT_FOUND = 127
_SHELL_SIGNALLED = 128
_CHUNK = 1 << 16
_SAID_BYTES = 1 << 20
_END_BYTES = 1 << 14
_END_S = 1.0


def around(argv: list[str], folder: str) -> list[str]:
    """Return the command line that runs a server's command as a child of this module.

    Args:
        argv: The command.
        folder: Folder of the server.
    """
    return [sys.executable, "-I", "-S", __file__, folder, *argv]


def _main(folder: str, *argv: str) -> None:
    """Run a server to its end, kill what it left, and tell its exit code as shells report it."""
    host = os.getppid()
    said = os.dup(2)
    code = _run(list(argv), said)
    with contextlib.suppress(OSError):
        os.write(said, f"[ended with status {code}]\n".encode())
    if _is_gone(host):
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


def _run(argv: list[str], said: int) -> int:
    """Run a server and return its exit code; none of its descendants is left.

    Args:
        argv: The command.
        said: The file that keeps the end of its standard error.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    signals = {signal.SIGTERM, signal.SIGQUIT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    heard, spoken = os.pipe()
    server = os.fork()
    if server == 0:
        os.setsid()
        # A server that kills this process ends with it.
        libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        os.dup2(spoken, 2)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        try:
            os.execvp(argv[0], argv)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
            os._exit(_SHELL_NOT_FOUND)

    def pass_on(number: int, _: object) -> None:
        sent = signal.SIGTERM if number == signal.SIGTERM else signal.SIGKILL
        with contextlib.suppress(OSError):
            os.killpg(server, sent)

    for number in signals:
        signal.signal(number, pass_on)
    # The pipes belong to the server alone, so that its end closes them.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    os.close(spoken)
    # Begun while the signals are blocked, so that they reach the main thread.
    listener = threading.Thread(target=_keep_end, args=(heard, said), daemon=True)
    listener.start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    status = 0
    ended = 0
    while ended != server:
        ended, status = os.waitpid(-1, 0)
    for number in signals:
        signal.signal(number, signal.SIG_IGN)
    _kill_descendants()
    listener.join(_END_S)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else _SHELL_SIGNALLED - code


def _keep_end(source: int, file: int) -> None:
    """Copy a pipe to a file to its end; a file that has become too large begins again."""
    size, end = 0, b""
    while data := os.read(source, _CHUNK):
        end = (end + data)[-_END_BYTES:]
        size += len(data)
        # A full disk must not make the server wait.
        with contextlib.suppress(OSError):
            if size > _SAID_BYTES:
                os.ftruncate(file, 0)
                os.lseek(file, 0, os.SEEK_SET)
                data, size = end, len(end)
            os.write(file, data)


def _kill_descendants() -> None:
    """Kill all processes below this one; those that fork meanwhile are found in the next round."""
    until_s = time.monotonic() + _KILLING_S
    while time.monotonic() < until_s:
        for pid in _descendants():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_PAUSE_S)


def _descendants() -> list[int]:
    """Return the ids of all processes below this one, from /proc (proc(5))."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal() and (about := _stat(name)):
            children.setdefault(int(about[1]), []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _is_gone(host: int) -> bool:
    """Return whether the host was killed; it stays as a zombie until its parent has asked.

    A process that ends closes its files, which ends the server, before it becomes a zombie.
    """
    about = _stat(str(host))
    if os.getppid() != host or not about or about[0] in (b"Z", b"X"):
        return True
    return bool(int(about[_FLAGS]) & _EXITING)


def _stat(pid: str) -> list[bytes]:
    """Return the words about a process from its state on; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name in brackets may hold anything.
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


if __name__ == "__main__":
    _main(*sys.argv[1:])
