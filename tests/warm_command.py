"""The `agentgym` command in a process that has its modules loaded already.

Starting Python and importing takes most of a short command's time. A server process imports
everything once and forks for each call; the child gets the caller's arguments, environment,
folder and files, runs `agentgym.cli.main`, and ends with its exit code. Where the environment
changes how Python itself starts, the command is started as usual. The console script
itself is started by the tests that start it with `subprocess`.

A command that judges something starts the fork server of `agentgym.verify.worker`, whose imports
take longer than the rest of the command. It is forked here, too, from a process that has made them.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading

_START_S, _END_S = 120, 30
_PYTHONS_OWN = ("PYTHON", "LC_", "LANG")
# Python reads this one when `breakpoint` is called. Ray sets it, and leaves it set.
_READ_LATER = "PYTHONBREAKPOINT"
# The contract suites are for tests. torch and transformers take longer to import than the rest
# together, and few commands need them.
_LEFT_OUT = ("agentgym.testing", "agentgym.train", "agentgym.bench")


class WarmCommand:
    """Runs commands one at a time; the server ends with this process."""

    def __init__(self):
        self._ours, theirs = socket.socketpair()
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._python = _pythons_own(os.environ)
        self._line(_START_S)
        atexit.register(self.close)

    def run(self, arguments, *, cwd, env, timeout, input=""):
        """Run the command and return a `subprocess.CompletedProcess` with its texts.

        Raises:
            subprocess.TimeoutExpired: It took longer than so many seconds, and was killed.
        """
        call = {
            "arguments": list(map(str, arguments)),
            "cwd": str(cwd),
            "env": {k: str(v) for k, v in env.items()},
        }
        if _pythons_own(env) != self._python:
            return subprocess.run(
                [sys.executable, "-c", "from agentgym.cli import main; main()", *call["arguments"]],
                cwd=cwd,
                env=env,
                input=input,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
            given.write(input.encode())
            given.seek(0)
            with tempfile.TemporaryFile() as err:
                files = [given.fileno(), out.fileno(), err.fileno()]
                text = json.dumps(call).encode() + b"\n"
                socket.send_fds(self._ours, [text], files)
                pid = int(self._line(_END_S))
                try:
                    code = int(self._line(timeout))
                except TimeoutError:
                    os.kill(pid, signal.SIGKILL)
                    self._line(_END_S)
                    raise subprocess.TimeoutExpired(call["arguments"], timeout) from None
                texts = [_text(out), _text(err)]
        return subprocess.CompletedProcess(["agentgym", *call["arguments"]], code, *texts)

    def _line(self, timeout_s):
        self._ours.settimeout(timeout_s)
        line = b""
        while not line.endswith(b"\n"):
            more = self._ours.recv(100)
            if not more:
                raise RuntimeError("the server of warm commands has ended")
            line += more
        return line

    def close(self):
        """End the server."""
        self._ours.close()
        self._server.wait(_END_S)


def _pythons_own(env):
    return {
        name: value
        for name, value in env.items()
        if name.startswith(_PYTHONS_OWN) and name != _READ_LATER
    }


def _text(file):
    file.seek(0)
    return file.read().decode()


def _serve(connection):
    """Fork for each call until the other end closes; return the child's exit code in a child."""
    template, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        connection.close()
        template.close()
        _fork_checkers(theirs)
    theirs.close()
    _import_everything()
    from agentgym.eval.report import report_template

    report_template()  # it takes long to compile, and every evaluation ends with it
    gc.freeze()
    connection.sendall(b"ready\n")
    while True:
        text, files = b"", []
        while not text.endswith(b"\n"):
            more, fds, _, _ = socket.recv_fds(connection, 1 << 16, 3)
            if not more:
                return 0
            text, files = text + more, files + fds
        pid = os.fork()
        if not pid:
            connection.close()
            return _call(json.loads(text), files, template)
        for fd in files:
            os.close(fd)
        connection.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _import_everything():
    import agentgym

    packages = [agentgym]
    while packages:
        package = packages.pop()
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if module.name in _LEFT_OUT:
                continue
            with contextlib.suppress(ImportError):  # some modules need an extra
                imported = importlib.import_module(module.name)
                if module.ispkg:
                    packages.append(imported)


def _fork_checkers(requests):
    """Fork a fork server for each socket that arrives, beside its output and its answer's pipe."""
    from agentgym.verify.worker import forkserver

    forkserver.load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that the kernel forgets them
    while True:
        folder, files, _, _ = socket.recv_fds(requests, 4096, 3)
        if not folder:
            os._exit(0)
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            requests.close()
            host, err, answer = files
            for number in (1, 2):
                os.dup2(err, number)
            os.chdir(folder)
            os.write(answer, f"{os.getpid()}\n".encode())
            for fd in (err, answer):
                os.close(fd)
            forkserver.serve(socket.socket(fileno=host))
            os._exit(0)
        for fd in files:
            os.close(fd)


class _Checker:
    """The process of a fork server, which is no child of this one."""

    def __init__(self, template, theirs):
        ours, answer = os.pipe()
        socket.send_fds(template, [os.fsencode(os.getcwd())], [theirs.fileno(), 2, answer])
        os.close(answer)
        with os.fdopen(ours) as told:
            self._process = os.pidfd_open(int(told.readline()))
        self.returncode = None

    def poll(self):
        return 0 if select.select([self._process], [], [], 0)[0] else None

    def wait(self, timeout=None):
        if not select.select([self._process], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("fork server", timeout)

    def kill(self):
        signal.pidfd_send_signal(self._process, signal.SIGKILL)


def _call(call, files, template):
    for number, fd in enumerate(files):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(call["cwd"])
    os.environ.clear()
    os.environ.update(call["env"])
    sys.argv = ["agentgym", *call["arguments"]]
    sys.stdin = os.fdopen(0, "r", closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    from agentgym.cli import main
    from agentgym.verify.worker import pool

    pool.start_server = functools.partial(_Checker, template)
    _end(_code_of(main))


def _code_of(main):
    """Run the command and return its exit code as Python would."""
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 - where Python itself prints a traceback
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code):
    """End as Python does, up to the deletion of every module.

    That would touch, and so copy, all the memory that is shared with the server: 0.3 s a call.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.path.pop(0)
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
