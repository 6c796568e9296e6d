"""The process that workers are forked from outlives no host, whatever the host had asked last."""

import os
import signal

import pytest

from agentgym.verify.worker.pool import ForkServer


def test_a_host_that_dies_before_it_is_answered_leaves_nothing_behind(capfd):
    server = ForkServer()
    worker = server.fork()
    server.end(worker._number)
    other = server.fork()
    # Both requests are there before the first is read: nobody takes the answers.
    os.kill(server._process.pid, signal.SIGSTOP)
    other_socket = other.socket.dup()
    server._send({"op": "end", "worker": 2})
    server._send({"op": "fork", "worker": 3}, [other_socket.fileno()])
    server._own.close()
    os.kill(server._process.pid, signal.SIGCONT)
    assert server._process.wait(60) == 0
    other.socket.close()
    other_socket.close()
    worker.socket.close()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("ended_by", ["the host's order", "the host's death"])
def test_a_killed_worker_leaves_no_temporary_file(tmp_path, monkeypatch, ended_by):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = ForkServer()
    worker = server.fork()
    server.fork().kill()  # the first has been forked by now
    (folder,) = tmp_path.glob("*/live/*/checks-*")
    (folder / "reader-x").mkdir(mode=0o700)
    (folder / "reader-x" / "file.xlsx").write_bytes(b"half read")
    if ended_by == "the host's order":
        worker.kill()
    else:
        worker.socket.close()
    server.close()
    assert list(tmp_path.iterdir()) == []
