"""The process that workers are forked from; it has imported what checks need and runs no check.

A fork of a process with threads may block on a lock whose thread is gone, and hosts have threads.
This process has only one. Each message is one JSON request: ``fork`` brings the worker's end of a
socket and has no answer; ``end`` kills a worker with all its children, removes its temporary files
and returns how it ended. The host numbers the workers.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
from typing import NamedTuple, NoReturn

from agentgym.scratch import make_scratch_folder

LOADED = (
    *("base64", "configparser", "csv", "datetime", "decimal", "difflib", "email", "fnmatch"),
    *("hashlib", "html.parser", "ipaddress", "itertools", "json", "posixpath", "shlex"),
    *("sqlite3", "statistics", "subprocess", "tarfile", "tempfile", "textwrap", "tomllib"),
    *("unicodedata", "urllib.parse", "xml.etree.ElementTree", "zipfile"),
    *("agentgym.verify.subprocess_reader", "agentgym.verify.documents", "agentgym.verify.facts"),
    *("agentgym.verify.matching", "agentgym.verify.repository", "agentgym.verify.rows"),
    *("agentgym.verify.service_calls", "agentgym.verify.values", "agentgym.verify.contracts"),
    *("agentgym.verify.worker.session", "agentgym.verify.judge.judged_checks"),
)
"""Modules that checks import; a worker imports any other module itself."""

_MESSAGE_BYTES = 4096


class _Worker(NamedTuple):
    """A forked worker and the folder for its temporary files, which a killed worker leaves."""

    pid: int
    folder: str


def main() -> None:
    """Serve the host at the other end of the socket named on the command line."""
    host = socket.socket(fileno=int(sys.argv[1]))
    load()
    serve(host)


def load() -> None:
    """Prepare this process to fork workers: signals, output, and imports."""
    # Only the host ends this process, not the terminal and not a signal to the whole group.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.dup2(2, 1)  # the output of checks must not mix with a command's output
    # Modules stay, so a collection finds nothing in them.
    gc.disable()
    for name in LOADED:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()


def serve(host: socket.socket) -> None:
    """Answer the host's requests until its end of the socket closes; then end all workers."""
    workers: dict[int, _Worker] = {}
    # A host that is killed may leave requests behind, and takes no answer.
    with contextlib.suppress(ConnectionError):
        _answer(host, workers)
    for worker in workers.values():
        _end(worker)


def _answer(host: socket.socket, workers: dict[int, _Worker]) -> None:
    while True:
        message, given, _, _ = socket.recv_fds(host, _MESSAGE_BYTES, 1)
        if not message:
            return
        request = json.loads(message)
        if request["op"] == "fork":
            workers[request["worker"]] = _fork(host, given[0])
            os.close(given[0])
        else:
            host.sendall(json.dumps(_end(workers.pop(request["worker"]))).encode())


def _fork(host: socket.socket, given: int) -> _Worker:
    folder = str(make_scratch_folder("checks"))
    pid = os.fork()
    if pid == 0:
        _become_worker(host, given, folder)
    return _Worker(pid, folder)


def _become_worker(host: socket.socket, given: int, folder: str) -> NoReturn:
    status = 1
    try:
        host.close()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        # Imported late, with the modules that checks need.
        from agentgym.verify.worker.confinement import confine
        from agentgym.verify.worker.session import work

        tempfile.tempdir = folder
        confine(folder)
        work(socket.socket(fileno=given))
        status = 0
    finally:
        os._exit(status)


def _end(worker: _Worker) -> int:
    """Kill a worker, remove its temporary files and return its wait status."""
    for kill in (os.killpg, os.kill):
        try:
            kill(worker.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # it has no group yet, or has ended
    status = os.waitpid(worker.pid, 0)[1]
    shutil.rmtree(worker.folder, ignore_errors=True)
    return status
