"""The load for servers speaks the protocol, and the bench measures a real server."""

import itertools
import json
import socket
import threading

from agentgym.bench.load import Player, frame_of, steps_per_s
from agentgym.bench.series import Figures
from agentgym.bench.server import VARIABLE, figures_of_servers, measure_servers


def test_a_frame_is_that_of_the_standard():
    frame = frame_of({"type": "state", "call": 1})
    assert frame[0] == 0x81 and frame[1] == 0x80 | len(frame[6:])
    assert json.loads(frame[6:]) == {"type": "state", "call": 1}
    long = frame_of({"text": "x" * 300})
    assert long[1] == 0x80 | 126 and int.from_bytes(long[2:4], "big") == len(long[8:])


def test_a_server_is_measured(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    figures = Figures(*figures_of_servers())
    measure_servers(figures, rounds=1, steps=5)
    assert figures["server.steps_per_s"].value > 0
    assert figures["server.apart.steps_per_s"].value > 0
    assert figures["server.memory_mb"].value > 10
    assert all(figure.value is not None for figure in figures.all)


def test_a_client_sends_the_frames_of_its_lanes_together():
    ours, its = socket.socketpair()
    answers = itertools.repeat(bytes([0x81, 2]) + b"ok")
    received = []

    def serve():
        with its:
            while data := its.recv(1_000):
                received.append(data)
                its.sendall(b"".join(itertools.islice(answers, len(data))))

    serving = threading.Thread(target=serve)
    serving.start()
    player = Player.__new__(Player)
    player.socket, player._buffer = ours, b""
    assert steps_per_s([player], [[b"a", b"b", b"c", b"d", b"e"]], lanes=2) > 0
    player.close()
    serving.join(10)
    assert received == [b"ab", b"cd", b"e"]
