"""Connections of this process are heard, in checks' threads too; what stays here is not."""

import asyncio
import contextlib
import socket
import sys
import threading

from agentgym.authoring.offline import listening
from agentgym.authoring.stage import UnheardJudge
from agentgym.records import Criterion, Judgement, Met
from agentgym.verify.thread import in_thread


def knock(host, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_STREAM) as sock, contextlib.suppress(OSError):
        sock.settimeout(0.01)
        sock.connect((host, 9))


def test_another_machine_is_heard():
    with listening() as heard:
        knock("192.0.2.1")
    assert heard == ["192.0.2.1"]


def test_a_name_that_is_resolved_and_a_datagram_are_heard():
    with listening() as heard:
        with contextlib.suppress(OSError):
            socket.getaddrinfo("example.invalid", 80)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, contextlib.suppress(OSError):
            sock.sendto(b"x", ("192.0.2.7", 9))
    assert heard == ["example.invalid", "192.0.2.7"]


def test_this_machine_is_not(tmp_path):
    with listening() as heard:
        knock("127.0.0.1")
        knock("127.9.9.9")
        knock("localhost")
        knock("::1", socket.AF_INET6)
        with socket.socket(socket.AF_UNIX) as sock, contextlib.suppress(OSError):
            sock.connect(str(tmp_path / "none"))
    assert heard == []


async def test_the_thread_of_a_grading_belongs_to_who_began_it():
    with listening() as heard:
        await in_thread(lambda: knock("192.0.2.2"))
    assert heard == ["192.0.2.2"]


async def test_each_listener_hears_its_own():
    async def play(host):
        with listening() as heard:
            await asyncio.sleep(0)
            knock(host)
            await asyncio.sleep(0)
        return heard

    assert await asyncio.gather(play("192.0.2.3"), play("192.0.2.4")) == [
        ["192.0.2.3"],
        ["192.0.2.4"],
    ]


def test_nobody_listens_afterwards():
    with listening() as heard:
        pass
    knock("192.0.2.5")
    thread = threading.Thread(target=knock, args=("192.0.2.6",))
    thread.start()
    thread.join()
    assert heard == []


def test_what_a_judge_asks_is_not_heard_and_the_rest_is():
    class Remote:
        name, grading_s = "remote", 1.0

        def decide(self, *_, **__):
            sys.audit("socket.getaddrinfo", "judge.example", 443, 0, 0, 0)
            return Judgement(Met.YES, "", 1.0, "r", (), (), "remote")

    with listening() as contacted:
        assert UnheardJudge(Remote()).decide(Criterion("x"), ()).met is Met.YES
        sys.audit("socket.getaddrinfo", "task.example", 443, 0, 0, 0)
    assert contacted == ["task.example"]
